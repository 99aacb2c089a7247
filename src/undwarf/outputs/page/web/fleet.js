// The start of the page of a store: the bar first, and what it asks for when the server has it.

import { StoreBar } from "./fleet-bar.js";
import { showFailure, showPage } from "./page-start.js";
import { Parts } from "./parts.js";
import { startTheme } from "./theme.js";

async function startFleet() {
  startTheme();
  const bar = new StoreBar();
  /** @type {HTMLElement} */ (document.querySelector("header")).before(bar.root);
  const asked = bar.query;
  const loaded = bar.load();
  /** @type {import("./fleet-bar.js").Problem | null} */
  let problem = null;
  let result = "";
  try {
    ({ result, problem } = await bar.ready(asked));
  } catch (error) {
    const text = /** @type {Error} */ (error).message.replace(/^the server answered 400: /, "");
    problem = { text: text.trim(), hint: "", empty: false };
  }
  if (problem) {
    document.title = "Nothing to show - undwarf";
    await loaded.finally(() => bar.problem(/** @type {any} */ (problem)));
    return;
  }
  const app = await showPage(new Parts(`result=${result}`));
  bar.progress("");
  takeEvent(app);
  bar.attach(app);
  await loaded.catch((error) => app.warn(`The labels cannot be shown: ${error.message}`));
}

/** Show the event that the page before showed, which may have another number here. @param {import("./app.js").App} app */
function takeEvent(app) {
  const query = new URLSearchParams(location.search);
  const name = query.get("event");
  if (name === null) return;
  query.delete("event");
  history.replaceState(history.state, "", `${query.size ? `?${query}` : location.pathname}${location.hash}`);
  const measure = app.profile.measures.findIndex((one) => one.name === name);
  if (measure > 0) app.state.set({ measure }, true);
}

startFleet().catch(showFailure);
