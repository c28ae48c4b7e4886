import { type FormEvent, useState } from 'react';
import { useClient } from 'urql';
import { mutate } from '../api/mutate.ts';
import { useData } from '../api/use-data.ts';
import { refusalIn } from '../base/refusals.ts';
import {
  CreateIdentityProviderDocument,
  type ProviderFieldsFragment,
  ProviderGroupsDocument,
  UpdateIdentityProviderDocument,
  type UserRole,
} from '../generated/graphql.ts';
import { ROLE_NAMES } from '../people/roles.ts';
import { Button, RemoveButton } from '../ui/button.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { Check, Choice, PasswordField, passwordIn, Refusal, TextField } from '../ui/form.tsx';
import { Failure } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';

interface Props {
  /** The provider to change. Undefined: a new one is added. */
  readonly provider: ProviderFieldsFragment | undefined;
  /** URL of the organization. */
  readonly url: string;
  readonly onDone: () => void;
}

/** Dialog with the form of an identity provider. */
export function ProviderDialog(props: Props) {
  return (
    <Dialog title={props.provider === undefined ? 'Add a provider' : `Edit ${props.provider.name}`} size="wide">
      <ProviderForm {...props} />
    </Dialog>
  );
}

/** A line of the form: the role and the group that people with a value of the groups claim get. */
interface Rule {
  readonly key: number;
  readonly value: string;
  /** Empty: no role. */
  readonly role: UserRole | '';
  /** Empty: no group. */
  readonly groupId: string;
}

let keys = 0;

/** Returns the lines for the rules of a provider: one for each group. */
const rulesOf = (provider: ProviderFieldsFragment | undefined): Rule[] =>
  (provider?.groupRules ?? []).flatMap(({ value, role, userGroups }) => {
    const ids = userGroups.length === 0 ? [''] : userGroups.map(({ id }) => id);
    return ids.map((groupId, i) => ({ key: ++keys, value, role: i === 0 ? (role ?? '') : ('' as const), groupId }));
  });

function ProviderForm({ provider, url, onDone }: Props) {
  const close = useClose();
  const client = useClient();
  const [slug, setSlug] = useState(provider?.slug ?? '');
  const [rules, setRules] = useState(() => rulesOf(provider));
  const [refusal, setRefusal] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const text = (name: string) => String(fields.get(name) ?? '').trim();
    const secret = text('secret');
    const common = {
      ...{ name: text('name'), issuer: text('issuer'), clientId: text('clientId') },
      domains: text('domains')
        .split(/[\s,;]+/)
        .filter((domain) => domain !== ''),
      createsAccounts: fields.get('creates') !== null,
      groupsClaim: text('claim') === '' ? null : text('claim'),
      groupRules: rules
        .filter(({ value }) => value.trim() !== '')
        .map(({ value, role, groupId }) => ({
          ...{ value: value.trim(), role: role === '' ? null : role, userGroupIds: groupId === '' ? [] : [groupId] },
        })),
      isEnabled: fields.get('enabled') !== null,
      ...passwordIn(fields),
    };
    setBusy(true);
    const { data, error } =
      provider === undefined
        ? await mutate(client, CreateIdentityProviderDocument, { input: { slug, clientSecret: secret, ...common } })
        : await mutate(client, UpdateIdentityProviderDocument, {
            input: { identityProviderId: provider.id, ...(secret !== '' && { clientSecret: secret }), ...common },
          });
    setBusy(false);
    const said = refusalIn(data ?? undefined, error);
    setRefusal(said);
    if (said !== undefined) return;
    notify('The identity provider was saved.');
    onDone();
    close();
  };
  const redirectUri = provider?.redirectUri ?? `${url}/accounts/login/openid/${slug || '…'}/callback`;
  return (
    <form className="form" onSubmit={submit}>
      <TextField label="Name on the button" name="name" defaultValue={provider?.name ?? ''} maxLength={60} required />
      <TextField
        label="Identifier"
        value={slug}
        onChange={(event) => setSlug(event.currentTarget.value)}
        disabled={provider !== undefined}
        pattern="[a-z0-9](?:[a-z0-9\-]{0,38}[a-z0-9])?"
        required
        hint="Lower-case letters, digits and hyphens. It is part of the redirect URI and cannot be changed later."
      />
      <TextField
        label="Redirect URI"
        value={redirectUri}
        readOnly
        onFocus={(event) => event.currentTarget.select()}
        hint="Register this address at the provider."
      />
      <TextField
        label="Issuer"
        name="issuer"
        type="url"
        defaultValue={provider?.issuer ?? ''}
        required
        hint="Address of the provider, without /.well-known/openid-configuration."
      />
      <TextField label="Client id" name="clientId" defaultValue={provider?.clientId ?? ''} required />
      <TextField
        label="Client secret"
        name="secret"
        type="password"
        autoComplete="off"
        required={provider === undefined}
        hint={provider !== undefined && 'Leave empty to keep the stored secret. Required if you change the issuer.'}
      />
      <TextField
        label="Email domains"
        name="domains"
        defaultValue={provider?.domains.join(', ') ?? ''}
        hint="Domains of the addresses with which people can sign in for the first time. Empty: any."
      />
      <Check
        label="Create accounts for people of these domains"
        name="creates"
        defaultChecked={provider?.createsAccounts === true}
      />
      <TextField
        label="Groups claim"
        name="claim"
        defaultValue={provider?.groupsClaim ?? ''}
        hint="Name of the claim with the groups of a person. Empty: groups are not read."
      />
      <RuleList rules={rules} onChange={setRules} provider={provider} />
      <Check
        label="People can sign in with this provider"
        name="enabled"
        defaultChecked={provider?.isEnabled ?? true}
      />
      <PasswordField />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={isBusy}>
          Save
        </Button>
      </div>
    </form>
  );
}

const ROLES: readonly (readonly [UserRole | '', string])[] = [
  ['', 'No role'],
  ...(Object.entries(ROLE_NAMES) as [UserRole, string][]),
];

interface RuleListProps {
  readonly rules: readonly Rule[];
  readonly onChange: (rules: Rule[]) => void;
  readonly provider: ProviderFieldsFragment | undefined;
}

/** Lines with the role and the group that a value of the groups claim gives. */
function RuleList({ rules, onChange, provider }: RuleListProps) {
  const read = useData(ProviderGroupsDocument, {});
  const active = (read.data?.userGroups?.nodes ?? []).filter((group) => !group.isRoleGroup && !group.isDeactivated);
  // The list has the first 100 groups only.
  const named = new Map(
    [...(provider?.groupRules ?? []).flatMap(({ userGroups }) => userGroups), ...active].map(({ id, name }) => [
      id,
      name,
    ]),
  );
  const groups = [['', 'No group'] as const, ...named];
  const change = (key: number, edit: Partial<Rule>) =>
    onChange(rules.map((rule) => (rule.key === key ? { ...rule, ...edit } : rule)));
  return (
    <fieldset className="group-of-fields">
      <legend>Roles and groups by value of the claim</legend>
      <Failure of={read} />
      {rules.map(({ key, value, role, groupId }, i) => (
        <div key={key} className="form">
          <TextField
            label={`Value ${i + 1}`}
            value={value}
            onChange={(event) => change(key, { value: event.currentTarget.value })}
          />
          <Choice
            label={`Role ${i + 1}`}
            options={ROLES}
            value={role}
            onChoose={(chosen) => change(key, { role: chosen })}
          />
          <Choice
            label={`Group ${i + 1}`}
            options={groups}
            value={groupId}
            onChoose={(chosen) => change(key, { groupId: chosen })}
          />
          <div>
            <RemoveButton
              id={String(key)}
              name={`value ${i + 1}`}
              onRemove={() => onChange(rules.filter((rule) => rule.key !== key))}
            />
          </div>
        </div>
      ))}
      <div>
        <Button onClick={() => onChange([...rules, { key: ++keys, value: '', role: '', groupId: '' }])}>
          Add a value
        </Button>
      </div>
    </fieldset>
  );
}
