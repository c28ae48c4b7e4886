import type { ReactNode } from 'react';
import { createStore, useStore } from '../base/store.ts';
import { Icon } from '../ui/icons.tsx';

/** Local storage key with the keys of the collapsed sections. */
const KEY = 'collapsed sections';

const collapsed = createStore<readonly string[]>(readCollapsed());

function readCollapsed(): readonly string[] {
  try {
    const keys: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(keys) ? keys.map(String) : [];
  } catch {
    return [];
  }
}

function toggle(key: string): void {
  const before = collapsed.get();
  const next = before.includes(key) ? before.filter((one) => one !== key) : [...before, key];
  collapsed.set(next);
  localStorage.setItem(KEY, JSON.stringify(next));
}

/** Returns whether a section is collapsed. This browser remembers it. */
export const useIsCollapsed = (key: string): boolean => useStore(collapsed, (keys) => keys.includes(key));

interface Props {
  /** Identifier under which the browser remembers whether the section is collapsed. */
  readonly id: string;
  readonly title: string;
  /** If true, the section is open, and the user cannot collapse it. */
  readonly staysOpen?: boolean;
  /** Buttons at the right of the heading. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A section of the sidebar, whose heading collapses and expands it. */
export function Section({ id, title, staysOpen = false, actions, children }: Props) {
  const isOpen = !useIsCollapsed(id) || staysOpen;
  return (
    <section aria-label={title}>
      <div className="sidebar-heading">
        <h2>
          <button type="button" aria-expanded={isOpen} disabled={staysOpen} onClick={() => toggle(id)}>
            <Icon name={isOpen ? 'open' : 'shut'} size={12} />
            <bdi>{title}</bdi>
          </button>
        </h2>
        {actions}
      </div>
      {children}
    </section>
  );
}
