import { render } from "preact";

import { App } from "./app";
import { Store } from "./store";
import "./style.css";
import { setTheme, theme } from "./theme";

setTheme(theme());
const store = new Store();
store.start();
render(<App store={store} />, document.getElementById("app") as HTMLElement);
