import { createStore, type Store } from './store.ts';

/** Creates a value that is on or off, and that the device remembers. @param key Its key in local storage. Initially off. */
export function createSwitch(key: string): Store<boolean> {
  const store = createStore(localStorage.getItem(key) !== null);
  const set = (isOn: boolean) => {
    if (isOn) localStorage.setItem(key, '1');
    else localStorage.removeItem(key);
    store.set(isOn);
  };
  return { ...store, set };
}
