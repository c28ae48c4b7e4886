import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  OrganizationSettingsPageDocument,
  type OrganizationSettingsPageQuery,
  SetOrganizationIconDocument,
  UpdateOrganizationDocument,
} from '../generated/graphql.ts';
import { ImageField } from '../ui/image-field.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { lengthSpoken, SettingControl, type SettingValue } from './setting-controls.tsx';
import { SettingGroups } from './setting-groups.tsx';
import { SettingRow } from './setting-row.tsx';
import { type IconSetting, type OrganizationSetting, SETTING_GROUPS, type ValueSetting } from './setting-table.ts';
import { useKept } from './use-kept.ts';
import { useSaved } from './use-saved.ts';

type Organization = NonNullable<OrganizationSettingsPageQuery['organization']>;

/** Profile and settings of the organization. Changes are saved immediately. */
export function OrganizationSettings() {
  const read = useData(OrganizationSettingsPageDocument, {}, { requestPolicy: 'cache-and-network' });
  const organization = useKept(read.data?.organization);
  if (organization === undefined) return <NotReady of={read} />;
  return (
    <SettingGroups groups={SETTING_GROUPS}>
      {(setting) => <Row key={setting.name} setting={setting} organization={organization} />}
    </SettingGroups>
  );
}

interface Props<S> {
  readonly setting: S;
  readonly organization: Organization;
}

const Row = ({ setting, organization }: Props<OrganizationSetting>) =>
  setting.kind === 'icon' ? (
    <IconRow setting={setting} organization={organization} />
  ) : (
    <ValueRow setting={setting} organization={organization} />
  );

function IconRow({ setting: { label, explanation }, organization }: Props<IconSetting>) {
  const { run, refusal, isBusy } = useCommand(SetOrganizationIconDocument);
  const { iconUrl, iconSource, viewerCanEdit } = organization;
  return (
    <SettingRow
      explanation={explanation}
      initial="a generated pattern"
      isOfOwners={false}
      refusal={refusal}
      undo={undefined}
    >
      {(hintId) => (
        <ImageField
          legend={label}
          image={<img className="avatar" src={iconUrl} alt="" width={64} height={64} />}
          isUploaded={iconSource === 'UPLOADED'}
          isFixed={isBusy || !viewerCanEdit}
          describedBy={hintId}
          onSet={(image) => void run({ input: { image } })}
        />
      )}
    </SettingRow>
  );
}

function ValueRow({ setting, organization }: Props<ValueSetting>) {
  const { run, refusal } = useCommand(UpdateOrganizationDocument);
  const { viewerCanEdit, viewerCanEditOwnerSettings } = organization;
  const { shown, save, undo } = useSaved(valueIn(organization, setting), (value) =>
    run({ input: { [setting.kind === 'channel' ? `${setting.name}Id` : setting.name]: value } }),
  );
  const isOfOwners = setting.isOfOwners === true;
  return (
    <SettingRow
      explanation={setting.explanation}
      initial={initialSpoken(setting)}
      isOfOwners={isOfOwners}
      refusal={refusal}
      undo={undo}
    >
      {(hintId) => (
        <SettingControl
          setting={setting}
          value={shown}
          isFixed={!(isOfOwners ? viewerCanEditOwnerSettings : viewerCanEdit)}
          hintId={hintId}
          onChange={save}
        />
      )}
    </SettingRow>
  );
}

const valueIn = (organization: Organization, setting: ValueSetting): SettingValue =>
  setting.kind === 'channel' ? (organization[setting.name]?.id ?? null) : organization[setting.name];

/** Returns the initial value of a setting as text. Undefined if there is none. */
function initialSpoken(setting: ValueSetting): string | undefined {
  switch (setting.kind) {
    case 'flag':
      return setting.initial ? 'on' : 'off';
    case 'choice':
      return setting.options.find(([value]) => value === setting.initial)?.[1];
    case 'text':
      return setting.initial === '' ? 'empty' : setting.initial;
    case 'number':
      return lengthSpoken(setting, setting.initial);
    case 'channel':
      return 'none';
  }
}
