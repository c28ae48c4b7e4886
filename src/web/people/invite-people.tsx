import { type FormEvent, type ReactNode, useRef, useState, useTransition } from 'react';
import { useClient } from 'urql';
import { mutate } from '../api/mutate.ts';
import { useData } from '../api/use-data.ts';
import { NOT_RETURNED, refusalIn } from '../base/refusals.ts';
import {
  CreateInviteLinkDocument,
  type CreateInviteLinkInput,
  InvitationChannelsDocument,
  InvitationChoicesDocument,
  type InvitationChoicesQuery,
  InvitationGroupsDocument,
  type InvitationRefusal,
  InviteUsersDocument,
  type InviteUsersInput,
  type InviteUsersMutation,
  type UserRole,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { Check, Choice, Field, PasswordField, passwordIn, Refusal, SearchField, TextField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';
import { Tabs } from '../ui/tabs.tsx';
import './invite-people.css';
import { ROLE_NAMES } from './roles.ts';

/** Choices of the lifetime of an invitation, in minutes. */
const LIFETIMES = [
  ['1440', '1 day'],
  ['4320', '3 days'],
  ['14400', '10 days'],
  ['43200', '30 days'],
  ['', 'Does not expire'],
] as const;
type Lifetime = (typeof LIFETIMES)[number][0];

/** Maximum length of the welcome message, in Unicode code points. */
const MAX_WELCOME_LENGTH = 8_000;

const REFUSALS: Readonly<Record<InvitationRefusal, string>> = {
  INVALID_ADDRESS: 'not a valid address',
  ADDRESS_NOT_ALLOWED: 'not allowed in this organization',
  HAS_ACCOUNT: 'already has an account',
  IS_DEACTIVATED: 'has a deactivated account',
};

/** Dialog that invites people by email, or creates a link. */
export function InvitePeople() {
  return (
    <Dialog title="Invite people" size="wide">
      <InviteForm />
    </Dialog>
  );
}

function InviteForm() {
  const read = useData(InvitationChoicesDocument, {});
  if (read.state !== 'ready') return <NotReady of={read} />;
  return <Choices choices={read.data} />;
}

type Way = 'email' | 'link';

function Choices({ choices }: { readonly choices: InvitationChoicesQuery }) {
  const { viewerCanInviteUsers = false, viewerCanCreateInviteLinks = false } = choices.organization ?? {};
  const ways: Partial<Record<Way, string>> = {
    ...(viewerCanInviteUsers && { email: 'By email' }),
    ...(viewerCanCreateInviteLinks && { link: 'By link' }),
  };
  const [way, setWay] = useState<Way>(viewerCanInviteUsers ? 'email' : 'link');
  const role = choices.viewer?.role ?? 'GUEST';
  return (
    <>
      {Object.keys(ways).length > 1 && (
        <Tabs parts={ways as Readonly<Record<Way, string>>} shown={way} onShow={setWay} />
      )}
      <InvitationForm key={way} way={way} roles={rolesUpTo(role)} />
    </>
  );
}

const ALL_ROLES = Object.entries(ROLE_NAMES) as [UserRole, string][];

/** Returns the roles that a user with a role can give, in the order of their rights. */
const rolesUpTo = (role: UserRole) => ALL_ROLES.slice(ALL_ROLES.findIndex(([one]) => one === role));

const isAboveMember = (role: UserRole): boolean => role !== 'MEMBER' && role !== 'GUEST';

type Refused = readonly { readonly email: string; readonly refusal: InvitationRefusal }[];

/** Returns the addresses that a result names as refused. */
function refusedIn(result: InviteUsersMutation['inviteUsers'] | undefined): Refused {
  if (result?.__typename === 'InviteUsersPayload') return result.refused ?? [];
  return result?.__typename === 'InvitationFailedError' ? result.refusedAddresses : [];
}

/** Focuses the first field. If the form is shown after the dialog, the dialog has focused its title. */
const focus = (element: HTMLElement | null): void => element?.focus();

interface FormProps {
  readonly way: Way;
  readonly roles: readonly (readonly [UserRole, string])[];
}

function InvitationForm({ way, roles }: FormProps) {
  const close = useClose();
  const client = useClient();
  const [role, setRole] = useState<UserRole>('MEMBER');
  const [lifetime, setLifetime] = useState<Lifetime>('14400');
  const [withDefaults, setWithDefaults] = useState(true);
  const [channelIds, setChannelIds] = useState<readonly string[]>([]);
  const [userGroupIds, setUserGroupIds] = useState<readonly string[]>([]);
  const [url, setUrl] = useState<string>();
  const [refused, setRefused] = useState<Refused>([]);
  const [refusal, setRefusal] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const byEmail = async (input: InviteUsersInput) => {
    const { data, error } = await mutate(client, InviteUsersDocument, { input });
    const result = data?.inviteUsers;
    const others = refusedIn(result);
    const said = refusalIn(data ?? undefined, error);
    setRefused(others);
    setRefusal(said);
    if (said !== undefined || result?.__typename !== 'InviteUsersPayload') return;
    const count = result.invitations?.length ?? 0;
    notify(count === 1 ? 'The invitation was sent.' : `${count} invitations were sent.`);
    if (others.length === 0) close();
  };
  const byLink = async (input: CreateInviteLinkInput) => {
    const { data, error } = await mutate(client, CreateInviteLinkDocument, { input });
    setRefusal(refusalIn(data ?? undefined, error));
    const made = data?.createInviteLink;
    if (made?.__typename !== 'CreateInviteLinkPayload') return;
    setUrl(made.invitation?.linkUrl ?? undefined);
    if (made.invitation?.linkUrl == null) setRefusal(NOT_RETURNED.link);
  };
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const welcomeText = String(fields.get('welcome')).trim();
    const terms = {
      ...{ role, channelIds: [...channelIds], includesDefaultChannels: withDefaults },
      ...{ userGroupIds: [...userGroupIds], ...(welcomeText !== '' && { welcomeText }) },
      ...{ expiresInMinutes: lifetime === '' ? null : Number(lifetime) },
      ...passwordIn(fields),
    };
    setBusy(true);
    if (way === 'link') await byLink(terms);
    else {
      const emails = String(fields.get('emails')).split(/[\s,;]+/);
      await byEmail({ ...terms, emails, notifiesInviter: fields.get('notifies') !== null });
    }
    setBusy(false);
  };
  if (url !== undefined) return <NewLink url={url} role={role} />;
  return (
    <form className="form" onSubmit={submit}>
      {way === 'email' && (
        <Field label="Email addresses" hint="Separated by spaces, commas or line breaks.">
          <textarea ref={focus} data-autofocus className="input" name="emails" rows={3} required />
        </Field>
      )}
      <Choice label="Role" options={roles} value={role} onChoose={setRole} />
      {isAboveMember(role) && <PasswordField />}
      <Choice label="Valid for" options={LIFETIMES} value={lifetime} onChoose={setLifetime} />
      {role !== 'GUEST' && (
        <Check
          label="Add them to the default channels"
          checked={withDefaults}
          onChange={(e) => setWithDefaults(e.currentTarget.checked)}
        />
      )}
      <ChannelChoice chosen={channelIds} onChange={setChannelIds} />
      <GroupChoice chosen={userGroupIds} onChange={setUserGroupIds} />
      <Field
        label="Welcome message"
        hint="Sent as a direct message to each person who joins. Supports Markdown. Empty: that of the organization."
      >
        <textarea className="input" dir="auto" name="welcome" rows={2} maxLength={MAX_WELCOME_LENGTH} />
      </Field>
      {way === 'email' && <Check label="Notify me when they join" name="notifies" defaultChecked />}
      <Refusal>{refusal}</Refusal>
      {refused.length > 0 && (
        <ul className="plain-list" aria-label="Not invited">
          {refused.map(({ email, refusal: reason }) => (
            <li key={email}>
              <bdi>{email}</bdi>: {REFUSALS[reason]}
            </li>
          ))}
        </ul>
      )}
      <div className="form-actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={isBusy}>
          {way === 'email' ? 'Send invitations' : 'Create link'}
        </Button>
      </div>
    </form>
  );
}

function NewLink({ url, role }: { readonly url: string; readonly role: UserRole }) {
  const close = useClose();
  const field = useRef<HTMLInputElement>(null);
  return (
    <div className="form">
      <p>Anyone with this link can join with the role {ROLE_NAMES[role].toLowerCase()}.</p>
      <TextField label="Link" ref={field} value={url} readOnly onFocus={(e) => e.currentTarget.select()} />
      <div className="form-actions">
        <CopyButton of="link" text={url} field={field} />
        <Button kind="primary" onClick={close}>
          Done
        </Button>
      </div>
    </div>
  );
}

/** Button that copies the URL of an invitation link. */
export const CopyLink = ({ url }: { readonly url: string }) => <CopyButton of="link" text={url} />;

interface ChoiceProps {
  readonly chosen: readonly string[];
  readonly onChange: (ids: readonly string[]) => void;
}

/** The channels to which the viewer can add users. Absent if there are none. */
function ChannelChoice(props: ChoiceProps) {
  const [nameContains, setNameContains] = useState('');
  const read = useData(InvitationChannelsDocument, nameContains === '' ? {} : { nameContains });
  const channels = (read.data?.channels?.nodes ?? []).filter(
    ({ isArchived, viewerCanAddSubscribers }) => !isArchived && viewerCanAddSubscribers,
  );
  if (read.state === 'ready' && channels.length === 0 && nameContains === '') return null;
  return (
    <PlaceChoice {...props} title="Other channels" search="Find channels" places={channels} onSearch={setNameContains}>
      <NotReady of={read} />
    </PlaceChoice>
  );
}

/** The groups to which the viewer can add members. Absent if there are none. */
function GroupChoice(props: ChoiceProps) {
  const [nameContains, setNameContains] = useState('');
  const read = useData(InvitationGroupsDocument, nameContains === '' ? {} : { nameContains });
  const groups = (read.data?.userGroups?.nodes ?? []).filter(
    ({ isRoleGroup, isDeactivated, viewerCanAddMembers }) => !isRoleGroup && !isDeactivated && viewerCanAddMembers,
  );
  if (read.state === 'ready' && groups.length === 0 && nameContains === '') return null;
  return (
    <PlaceChoice {...props} title="Groups" search="Find groups" places={groups} onSearch={setNameContains}>
      <NotReady of={read} />
    </PlaceChoice>
  );
}

interface PlaceChoiceProps extends ChoiceProps {
  readonly title: string;
  /** Label of the search field. */
  readonly search: string;
  readonly places: readonly { readonly id: string; readonly name: string }[];
  readonly onSearch: (text: string) => void;
  /** Shown while the places are not loaded. */
  readonly children: ReactNode;
}

/** Check boxes for channels or groups, with a field that searches them by name. */
function PlaceChoice({ title, search, places, chosen, onChange, onSearch, children }: PlaceChoiceProps) {
  const [text, setText] = useState('');
  const [, startTransition] = useTransition();
  const find = (typed: string) => {
    setText(typed);
    startTransition(() => onSearch(typed.trim()));
  };
  const toggle = (id: string) => onChange(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id]);
  return (
    <fieldset className="invite-channels">
      <legend>{chosen.length === 0 ? title : `${title} (${chosen.length} chosen)`}</legend>
      <SearchField label={search} value={text} onSearch={find} />
      {children}
      <ul className="plain-list invite-channel-list">
        {places.map(({ id, name }) => (
          <li key={id}>
            <Check label={name} checked={chosen.includes(id)} onChange={() => toggle(id)} />
          </li>
        ))}
      </ul>
    </fieldset>
  );
}
