import { type FormEvent, useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  type GroupSettingInput,
  type HoldersFragment,
  OrganizationPermissionsPageDocument,
  UpdatePermissionsDocument,
} from '../generated/graphql.ts';
import { CHOSEN, HolderGroupsFailure, useHolderGroups } from '../groups/permission-field.tsx';
import { holdersAsIs, holdersInput, namedHolders, nameOfGroup, nameOfRoleGroup } from '../people/group-names.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { Button } from '../ui/button.tsx';
import { Choice } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { SettingGroups } from './setting-groups.tsx';
import { SettingRow } from './setting-row.tsx';
import { PERMISSION_GROUPS, type PermissionSetting } from './setting-table.ts';
import { useKept } from './use-kept.ts';
import { useSaved } from './use-saved.ts';

/** Permissions in the organization. Changes are saved immediately. */
export function PermissionSettings() {
  const read = useData(OrganizationPermissionsPageDocument, {}, { requestPolicy: 'cache-and-network' });
  const organization = useKept(read.data?.organization);
  if (organization === undefined) return <NotReady of={read} />;
  const { permissions, viewerCanEdit, viewerCanEditOwnerSettings } = organization;
  return (
    <>
      <HolderGroupsFailure />
      <SettingGroups groups={PERMISSION_GROUPS}>
        {(setting) => (
          <Row
            key={setting.name}
            setting={setting}
            holders={permissions[setting.name]}
            isFixed={!(setting.isOfOwners === true ? viewerCanEditOwnerSettings : viewerCanEdit)}
          />
        )}
      </SettingGroups>
    </>
  );
}

interface Props {
  readonly setting: PermissionSetting;
  readonly holders: HoldersFragment;
  readonly isFixed: boolean;
}

function Row({ setting, holders, isFixed }: Props) {
  const { name, label, explanation, initial, isOfOwners = false } = setting;
  const { run, refusal } = useCommand(UpdatePermissionsDocument);
  const { shown, save, undo } = useSaved(
    holdersAsIs(holders),
    (next, old) => run({ input: { permissions: { [name]: { new: next, old } } } }),
    isSame,
  );
  const [isChoosing, setChoosing] = useState(false);
  const { groups, hint } = useHolderGroups(holders);
  const isAllowed = (group: { readonly name: string; readonly isRoleGroup: boolean }) =>
    setting.only?.includes(group.name) ?? !(group.isRoleGroup && setting.without.includes(group.name));
  const options = groups.filter((group) => group.id === holders.group?.id || isAllowed(group));
  const choose = (next: string) => {
    setChoosing(next === CHOSEN);
    if (next !== CHOSEN) void save({ groupId: next });
  };
  return (
    <SettingRow
      explanation={explanation}
      initial={nameOfRoleGroup(initial)}
      allowed={allowedSpoken(setting)}
      isOfOwners={isOfOwners}
      refusal={refusal}
      undo={undo}
    >
      {(hintId) => (
        <>
          <Choice
            label={label}
            aria-describedby={hintId}
            hint={hint}
            disabled={isFixed}
            options={[
              ...options.map((group) => [group.id, nameOfGroup(group)] as const),
              ...(setting.only === undefined ? [[CHOSEN, 'Specific users and groups…'] as const] : []),
            ]}
            value={isChoosing ? CHOSEN : String(shown.groupId ?? CHOSEN)}
            onChoose={choose}
          />
          {(isChoosing || shown.groupId === undefined) && !isFixed && (
            <HoldersForm
              key={JSON.stringify(holdersAsIs(holders))}
              label={label}
              holders={holders}
              onSave={async (next) => {
                if (await save(next)) setChoosing(false);
              }}
            />
          )}
        </>
      )}
    </SettingRow>
  );
}

interface FormProps {
  readonly label: string;
  readonly holders: HoldersFragment;
  readonly onSave: (next: GroupSettingInput) => Promise<void>;
}

/** Form for specific users and groups, which are saved by a button. */
function HoldersForm({ label, holders, onSave }: FormProps) {
  const [initial] = useState(() => namedHolders(holders));
  const [chosen, setChosen] = useState(initial);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void onSave(holdersInput(chosen));
  };
  return (
    <form className="form" onSubmit={submit}>
      <PeoplePicker label={`${label}: users and groups`} withGroups initial={initial} onChange={setChosen} />
      {chosen !== initial && (
        <div className="form-actions">
          <Button type="submit" kind="primary">
            Save<span className="only-heard"> {label}</span>
          </Button>
        </div>
      )}
    </form>
  );
}

/** Returns the groups that can hold a permission as text. */
function allowedSpoken({ only, without }: PermissionSetting): string {
  if (only !== undefined) return new Intl.ListFormat('en', { type: 'disjunction' }).format(only.map(nameOfRoleGroup));
  const roles = without.includes('role:everyone') ? 'all roles except guests' : 'all roles';
  return `${roles}, groups and users${without.includes('role:nobody') ? ', at least one of them' : ''}`;
}

/** Returns whether two values have the same holders. A single group is equal to a choice of only this group. */
function isSame(a: GroupSettingInput, b: GroupSettingInput): boolean {
  return idsIn(a) === idsIn(b);
}

const idsIn = ({ groupId, direct }: GroupSettingInput): string =>
  JSON.stringify([
    (groupId == null ? [...(direct?.subgroupIds ?? [])] : [groupId]).toSorted(),
    [...(direct?.memberIds ?? [])].toSorted(),
  ]);
