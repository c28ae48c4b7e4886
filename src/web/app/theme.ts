import { createStore } from '../base/store.ts';

/** Color theme of the page. `system`: the theme of the browser. */
export type Theme = 'system' | 'light' | 'dark';

/** Key of the theme in local storage. `index.html` reads it too, before the first paint. */
const KEY = 'theme';

export const theme = createStore<Theme>((localStorage.getItem(KEY) as Theme | null) ?? 'system');

export function setTheme(next: Theme): void {
  theme.set(next);
  if (next === 'system') {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset['theme'];
  } else {
    localStorage.setItem(KEY, next);
    document.documentElement.dataset['theme'] = next;
  }
}
