// What the page of a profile starts with, wherever its parts come from.

import { App } from "./app.js";
import { Profile } from "./profile.js";
import { DEFAULTS } from "./state.js";

/** Show the page of these parts. @param {import("./parts.js").Parts} parts */
export async function showPage(parts) {
  const part = await parts.get("profile");
  if (!part) throw new Error("the page has no profile");
  const first = /** @type {string} */ (part.json.start ?? "");
  if (first && location.hash.length < 2) history.replaceState(null, "", `#${first}`);
  const compared = part.columns.row_side ? await parts.get("comparison") : null;
  if (compared) DEFAULTS.colour = "change";
  const app = new App(new Profile(part), parts, compared);
  document.title = `${app.profile.title} - undwarf`;
  app.update(new Set());
  document.documentElement.dataset.ready = "true";
  return app;
}

/** Say why there is nothing to see. @param {Error} error */
export function showFailure(error) {
  const place = /** @type {HTMLElement} */ (document.getElementById("problem"));
  place.textContent = `The page cannot be shown: ${error.message}`;
  place.hidden = false;
  console.error(error);
}
