import { type ReactNode, useDeferredValue, useId, useState } from 'react';
import { TextField } from '../ui/form.tsx';
import { type Described, type Group as GroupOf, matching } from './setting-table.ts';

interface Props<T extends Described> {
  readonly groups: readonly GroupOf<T>[];
  readonly children: (setting: T) => ReactNode;
}

/** Groups of settings below a field that searches them. */
export function SettingGroups<T extends Described>({ groups, children }: Props<T>) {
  const [text, setText] = useState('');
  const found = matching(groups, useDeferredValue(text.trim()));
  return (
    <div className="form">
      <TextField
        label="Find a setting"
        type="search"
        value={text}
        onChange={({ currentTarget: { value } }) => setText(value)}
      />
      {found.map((group) => (
        <Group key={group.title} title={group.title}>
          {group.settings.map((setting) => children(setting))}
        </Group>
      ))}
      <p role="status" className="soft">
        {found.length === 0 && 'No settings found.'}
      </p>
    </div>
  );
}

function Group({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const id = useId();
  return (
    <section className="setting-group" aria-labelledby={id}>
      <h3 id={id}>{title}</h3>
      {children}
    </section>
  );
}
