import { useState } from 'react';
import { useQuery } from 'urql';
import { GroupNamesDocument, type GroupSettingInput, type HoldersFragment } from '../generated/graphql.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { Choice } from '../ui/form.tsx';
import { holdersInput, holdersSpoken, namedHolders, nameOfGroup } from './group-names.ts';

interface Props {
  readonly label: string;
  /** Who holds it by now. */
  readonly holders: HoldersFragment;
  readonly isFixed: boolean;
  readonly onChange: (next: GroupSettingInput) => void;
}

/** What an option is called that is no group's id. */
const CHOSEN = 'chosen';

/** Who holds a permission: a group, or people and groups that are chosen by name. */
export function PermissionField({ label, holders, isFixed, onChange }: Props) {
  const [{ data }] = useQuery({ query: GroupNamesDocument });
  const [value, setValue] = useState(holders.group?.id ?? CHOSEN);
  if (isFixed) {
    return (
      <div className="field">
        <span>{label}</span>
        <p>{holdersSpoken(holders)}</p>
      </div>
    );
  }
  const groups = data?.userGroups?.nodes ?? (holders.group === null ? [] : [holders.group]);
  return (
    <>
      <Choice
        label={label}
        value={value}
        options={[...groups.map((group) => [group.id, nameOfGroup(group)] as const), [CHOSEN, 'Chosen by name…']]}
        onChoose={(next) => {
          setValue(next);
          if (next !== CHOSEN) onChange({ groupId: next });
        }}
      />
      {value === CHOSEN && (
        <PeoplePicker
          label={`${label}: who`}
          withGroups
          initial={namedHolders(holders)}
          onChange={(chosen) => onChange(holdersInput(chosen))}
        />
      )}
    </>
  );
}
