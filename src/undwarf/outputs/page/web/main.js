// The start of the page.

import { showFailure, showPage } from "./page-start.js";
import { Parts } from "./parts.js";
import { startTheme } from "./theme.js";

startTheme();
showPage(new Parts()).catch(showFailure);
