import { type FormEvent, useState } from 'react';
import { type Client, useClient } from 'urql';
import { useCommand } from '../api/use-command.ts';
import {
  DeactivateBotDocument,
  DeactivateUserDocument,
  type ManagedPersonFragment,
  ReactivateUserDocument,
  ResetSecondFactorDocument,
  SendPasswordResetDocument,
  UpdateUserDocument,
  type UserRole,
} from '../generated/graphql.ts';
import { act } from '../ui/act.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { Dialog, openDialog, useClose } from '../ui/dialog.tsx';
import { Choice, PasswordField, passwordIn, Refusal } from '../ui/form.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { notify } from '../ui/notices.tsx';
import { openPopup } from '../ui/popup.tsx';
import { ApiKeysDialog } from './api-keys-dialog.tsx';
import { IdentitiesDialog } from './linked-identities.tsx';
import { ROLE_NAMES } from './roles.ts';
import { SessionsDialog } from './sessions-dialog.tsx';
import { useViewer } from './use-viewer.ts';

type Viewer = NonNullable<ReturnType<typeof useViewer>['viewer']>;

interface MenuProps {
  readonly person: ManagedPersonFragment;
  /** Further items, which come first. */
  readonly items?: readonly MenuItem[];
}

/** Button that opens the menu of a user. Renders nothing if the menu has no item for the viewer. */
export function PersonMenuButton({ person, items: first = [] }: MenuProps) {
  const client = useClient();
  const { viewer } = useViewer();
  if (viewer === null) return null;
  const groups = [first, ...groupsFor(client, person, viewer)];
  if (groups.every((items) => items.length === 0)) return null;
  const label = `Manage ${person.fullName}`;
  return (
    <IconButton
      icon="more"
      label={label}
      aria-haspopup="menu"
      onClick={({ currentTarget }) => openPopup(currentTarget, <Menu label={label} groups={groups} />)}
    />
  );
}

function groupsFor(client: Client, person: ManagedPersonFragment, viewer: Viewer): MenuItem[][] {
  const { isActive, viewerCanEdit, viewerCanDeactivate, viewerCanSendPasswordReset } = person;
  const when = (isSo: boolean, item: MenuItem): MenuItem[] => (isSo ? [item] : []);
  return [
    [
      ...when(viewerCanEdit && isActive, {
        label: 'Change role…',
        icon: 'edit',
        onChoose: () => openDialog(<RoleDialog person={person} />),
      }),
      ...when(viewerCanSendPasswordReset && person.id !== viewer.id, {
        label: 'Send password reset email',
        icon: 'send',
        onChoose: () => void sendReset(client, person),
      }),
      ...when(viewerCanSendPasswordReset && person.id !== viewer.id, {
        label: 'Reset second factor…',
        icon: 'edit',
        onChoose: () => openDialog(<ResetFactorDialog person={person} />),
      }),
      ...when(canManageSignIns(person, viewer), {
        label: 'Linked identities…',
        icon: 'lock',
        onChoose: () => openDialog(<IdentitiesDialog person={person} />),
      }),
      ...when(canManageSignIns(person, viewer), {
        label: 'Sessions…',
        icon: 'clock',
        onChoose: () => openDialog(<SessionsDialog person={person} />),
      }),
      ...when(canManageSignIns(person, viewer), {
        label: 'API keys…',
        icon: 'code',
        onChoose: () => openDialog(<ApiKeysDialog person={person} />),
      }),
      ...when(viewerCanEdit && !isActive, {
        label: 'Reactivate',
        icon: 'check',
        onChoose: () => void reactivate(client, person),
      }),
    ],
    // The viewer's own account cannot be deactivated in this menu.
    when(viewerCanDeactivate && person.id !== viewer.id, {
      label: 'Deactivate…',
      icon: 'out',
      isDangerous: true,
      onChoose: () => openDialog(<DeactivateDialog person={person} />),
    }),
  ];
}

/**
 * Returns whether the viewer can manage the sessions, linked identities and API keys of another person. Those of owners are
 * visible to owners only.
 */
const canManageSignIns = ({ id, role, isBot, isActive }: ManagedPersonFragment, viewer: Viewer): boolean =>
  id !== viewer.id &&
  !isBot &&
  isActive &&
  (viewer.role === 'OWNER' || (viewer.role === 'ADMINISTRATOR' && role !== 'OWNER'));

async function reactivate(client: Client, { id, fullName }: ManagedPersonFragment): Promise<void> {
  const answer = await act(client, ReactivateUserDocument, { input: { userId: id } });
  if (answer !== undefined) notify(`${fullName} was reactivated.`);
}

async function sendReset(client: Client, { id, fullName }: ManagedPersonFragment): Promise<void> {
  const answer = await act(client, SendPasswordResetDocument, { input: { userId: id } });
  if (answer !== undefined) notify(`${fullName} gets an email with a link to a new password.`);
}

const ROLES = Object.entries(ROLE_NAMES) as [UserRole, string][];

function RoleDialog({ person }: { readonly person: ManagedPersonFragment }) {
  return (
    <Dialog title={`Role of ${person.fullName}`}>
      <RoleForm person={person} />
    </Dialog>
  );
}

function RoleForm({ person: { id, fullName, role: before } }: { readonly person: ManagedPersonFragment }) {
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(UpdateUserDocument);
  const [role, setRole] = useState(before);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!(await run({ input: { userId: id, role, ...passwordIn(new FormData(event.currentTarget)) } }))) return;
    close();
    notify(`The role of ${fullName} is now ${ROLE_NAMES[role]}.`);
  };
  return (
    <form className="form" onSubmit={submit}>
      <Choice
        label="Role"
        hint="Only owners can grant or remove the owner role."
        options={ROLES}
        value={role}
        onChoose={setRole}
        data-autofocus
      />
      <PasswordField />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={isBusy || role === before}>
          Save
        </Button>
      </div>
    </form>
  );
}

function ResetFactorDialog({ person: { id, fullName } }: { readonly person: ManagedPersonFragment }) {
  const { run, refusal, isBusy } = useCommand(ResetSecondFactorDocument);
  const [password, setPassword] = useState('');
  const reset = async () => {
    const isDone = await run({ input: { userId: id, ...(password !== '' && { currentPassword: password }) } });
    if (isDone) notify(`The second factor of ${fullName} was removed.`);
    return isDone;
  };
  return (
    <Confirmation
      title={`Reset the second factor of ${fullName}?`}
      action="Reset"
      refusal={refusal}
      isBusy={isBusy}
      onConfirm={reset}
    >
      The user can then sign in with the password alone, unless the organization requires a second factor. The user is
      notified by email.
      <PasswordField value={password} onChange={(event) => setPassword(event.currentTarget.value)} />
    </Confirmation>
  );
}

function DeactivateDialog({ person: { id, fullName, isBot } }: { readonly person: ManagedPersonFragment }) {
  const [ofPerson, ofBot] = [useCommand(DeactivateUserDocument), useCommand(DeactivateBotDocument)];
  const { refusal, isBusy } = isBot ? ofBot : ofPerson;
  const deactivate = async () => {
    const isDone = await (isBot ? ofBot.run({ input: { botId: id } }) : ofPerson.run({ input: { userId: id } }));
    if (isDone) notify(`${fullName} was deactivated.`);
    return isDone;
  };
  return (
    <Confirmation
      title={`Deactivate ${fullName}?`}
      action="Deactivate"
      refusal={refusal}
      isBusy={isBusy}
      onConfirm={deactivate}
    >
      {isBot
        ? 'The bot cannot use the API until an administrator reactivates it. Its messages are kept.'
        : 'The user is signed out everywhere and cannot sign in until they are reactivated. Their bots are deactivated too. ' +
          'Messages are kept.'}
    </Confirmation>
  );
}
