// Light or dark: as the system has it, or as chosen before.

/** @typedef {"auto" | "light" | "dark"} Theme */

const PLACE = "undwarf-theme";
/** @type {Theme[]} */
export const THEMES = ["auto", "light", "dark"];

/** The theme that was chosen; "auto" where nothing can be kept. @returns {Theme} */
export function chosenTheme() {
  try {
    const kept = localStorage.getItem(PLACE);
    return kept === "light" || kept === "dark" ? kept : "auto";
  } catch {
    return "auto";
  }
}

/**
 * Show a theme from now on. Sends "themechange" to the document, for what is drawn on canvases.
 * @param {Theme} theme
 */
export function setTheme(theme) {
  try {
    localStorage.setItem(PLACE, theme);
  } catch {
    // The page works without: the choice then lasts until it is closed.
  }
  applyTheme(theme);
}

/** @param {Theme} theme */
export function applyTheme(theme) {
  const dark = theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  document.dispatchEvent(new Event("themechange"));
}

/** Apply what was chosen, and follow the system. */
export function startTheme() {
  applyTheme(chosenTheme());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => applyTheme(chosenTheme()));
}
