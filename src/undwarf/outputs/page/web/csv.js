// Tables as files of comma-separated values.

/**
 * Text of a table. Cells that a spreadsheet would take for a formula get an apostrophe in front.
 * @param {(string | number)[][]} rows
 */
export function csvText(rows) {
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** @param {string | number} value */
function cell(value) {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Offer text as a file.
 * @param {string} name of the file
 * @param {string} type
 * @param {string} text
 */
export function offerFile(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
