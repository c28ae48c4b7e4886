import { useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  LinkedIdentitiesDocument,
  type LinkedIdentitiesQuery,
  type ManagedPersonFragment,
  UnlinkIdentityDocument,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { useClock } from '../ui/clock.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { Dialog, openDialog } from '../ui/dialog.tsx';
import { PasswordField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';

type Identity = NonNullable<LinkedIdentitiesQuery['linkedIdentities']>[number];

const nameOf = ({ providerName, issuer }: Identity): string => providerName ?? issuer;

interface ListProps {
  /** Id of a user other than the viewer. Undefined: the viewer. */
  readonly userId?: string;
}

/** List of the identities with which a user can sign in, with buttons that unlink them. */
export function IdentityList({ userId }: ListProps) {
  const of = userId === undefined ? {} : { userId };
  const read = useData(LinkedIdentitiesDocument, of, { requestPolicy: 'cache-and-network' });
  const { moment } = useClock();
  const identities = read.data?.linkedIdentities ?? [];
  const unlink = (identity: Identity) =>
    openDialog(<UnlinkDialog identity={identity} {...of} onDone={() => read.state === 'ready' && read.reload()} />);
  return (
    <>
      <NotReady of={read} />
      <ul className="plain-list" aria-label="Linked identities">
        {identities.map((identity) => (
          <li className="row" key={identity.issuer}>
            <div className="row-body">
              <strong>{nameOf(identity)}</strong>
              <p className="soft">{`${identity.issuer}, since ${moment(identity.createdAt)}`}</p>
            </div>
            <Button onClick={() => unlink(identity)} aria-label={`Unlink ${nameOf(identity)}`}>
              Unlink
            </Button>
          </li>
        ))}
        {read.state === 'ready' && identities.length === 0 && <li className="row soft">No linked identities.</li>}
      </ul>
    </>
  );
}

interface UnlinkProps extends ListProps {
  readonly identity: Identity;
  readonly onDone: () => void;
}

function UnlinkDialog({ identity, userId, onDone }: UnlinkProps) {
  const { run, refusal, isBusy } = useCommand(UnlinkIdentityDocument, onDone);
  const [password, setPassword] = useState('');
  const unlink = async () => {
    const proof = password === '' ? {} : { currentPassword: password };
    const which = userId === undefined ? {} : { userId };
    const isDone = await run({ input: { ...which, issuer: identity.issuer, ...proof } });
    if (isDone) notify(`${nameOf(identity)} was unlinked.`);
    return isDone;
  };
  return (
    <Confirmation
      title={`Unlink ${nameOf(identity)}?`}
      action="Unlink"
      refusal={refusal}
      isBusy={isBusy}
      onConfirm={unlink}
    >
      The user stays signed in. The next sign-in with this provider links the account again if the provider confirms its
      email address.
      <PasswordField value={password} onChange={(event) => setPassword(event.currentTarget.value)} />
    </Confirmation>
  );
}

/** Dialog with the linked identities of another user. */
export function IdentitiesDialog({ person: { id, fullName } }: { readonly person: ManagedPersonFragment }) {
  return (
    <Dialog title={`Linked identities of ${fullName}`}>
      <IdentityList userId={id} />
    </Dialog>
  );
}
