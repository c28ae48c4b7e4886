import { createStore } from '../api/store.ts';

/** `system`: as the browser is. */
export type Theme = 'system' | 'light' | 'dark';

/** `index.html` reads it as well, before anything is painted. */
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
