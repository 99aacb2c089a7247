// The start of the page.

import { App } from "./app.js";
import { Parts } from "./parts.js";
import { Profile } from "./profile.js";
import { DEFAULTS } from "./state.js";
import { startTheme } from "./theme.js";

async function start() {
  startTheme();
  const parts = new Parts();
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
}

start().catch((error) => {
  const place = /** @type {HTMLElement} */ (document.getElementById("problem"));
  place.textContent = `The page cannot be shown: ${error.message}`;
  place.hidden = false;
  console.error(error);
});
