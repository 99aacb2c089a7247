// Regular expressions that users type.

/**
 * What is wrong with an expression, or null.
 * @param {string} text
 * @returns {string | null}
 */
export function problemOf(text) {
  try {
    new RegExp(text);
    return null;
  } catch (error) {
    const message = /** @type {Error} */ (error).message;
    return message.slice(message.lastIndexOf(":") + 1).trim() || "not a regular expression";
  }
}
