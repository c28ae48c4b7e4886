import { useState } from 'react';

/** What is being written to a place, which is there again after a reload. */
export function useKeptText(key: string) {
  const name = `text ${key}`;
  const [value, setValue] = useState(() => sessionStorage.getItem(name) ?? '');
  const set = (next: string) => {
    setValue(next);
    if (next === '') sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, next);
  };
  return { value, set, clear: () => set('') };
}
