import { type ReactNode, useDeferredValue, useState } from 'react';
import { FormSection, SearchField } from '../ui/form.tsx';
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
      <SearchField label="Find a setting" value={text} onSearch={setText} />
      {found.map((group) => (
        <FormSection key={group.title} title={group.title}>
          {group.settings.map((setting) => children(setting))}
        </FormSection>
      ))}
      <p role="status" className="soft">
        {found.length === 0 && 'No settings found.'}
      </p>
    </div>
  );
}
