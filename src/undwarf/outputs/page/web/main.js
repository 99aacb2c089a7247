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
  const compared = await parts.get("comparison");
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
