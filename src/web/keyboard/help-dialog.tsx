import { Dialog } from '../ui/dialog.tsx';
import { SHORTCUTS, type Shortcut } from './keys.ts';
import './keyboard.css';

const GROUPS: Readonly<Record<keyof typeof SHORTCUTS, string>> = {
  everywhere: 'Everywhere',
  list: 'In a list of messages',
  message: 'On a message',
};

/** Dialog with all keyboard shortcuts. */
export function HelpDialog() {
  return (
    <Dialog title="Keyboard shortcuts" size="wide">
      <div className="shortcuts">
        {Object.entries(GROUPS).map(([group, title]) => (
          <section key={group} aria-label={title}>
            <h3>{title}</h3>
            <dl>
              {Object.values<Shortcut>(SHORTCUTS[group as keyof typeof SHORTCUTS]).map(({ keys, does }) => (
                <div key={does}>
                  <dt>{withNames(does)}</dt>
                  <dd>
                    {keys.map((key) => (
                      <kbd key={key} className="key">
                        {shownKey(key)}
                      </kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}

const isApple = /Mac|iP(hone|ad|od)/.test(navigator.platform);

const NAMES: Readonly<Record<string, string>> = {
  Mod: isApple ? '⌘' : 'Ctrl',
  Alt: isApple ? '⌥' : 'Alt',
  ArrowDown: '↓',
  ArrowUp: '↑',
  ArrowLeft: '←',
  ArrowRight: '→',
  PageDown: 'Page Down',
  PageUp: 'Page Up',
  Escape: 'Esc',
};

/** Returns a key with the symbols that keyboards show: "Ctrl + K" or "⌘ + K" for `Mod+K`. */
const shownKey = (key: string): string =>
  key
    .split(/(?<=.)\+/)
    .map((part) => NAMES[part] ?? part)
    .join(' + ');

const withNames = (text: string): string => text.replaceAll(/Arrow\w+/g, (name) => NAMES[name] ?? name);
