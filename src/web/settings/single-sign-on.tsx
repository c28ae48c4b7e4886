import { useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  DeleteIdentityProviderDocument,
  type ProviderFieldsFragment,
  SingleSignOnDocument,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { PasswordField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';
import { ProviderDialog } from './provider-form.tsx';

/** Identity providers of the organization, which owners can add, change and delete. */
export function SingleSignOn() {
  const read = useData(SingleSignOnDocument, {}, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} />;
  const { viewer, organization } = read.data;
  if (viewer?.role !== 'OWNER' || !organization) return <p className="soft">Only owners can see these settings.</p>;
  const providers = organization.identityProviders?.nodes ?? [];
  const { reload } = read;
  const edit = (provider?: ProviderFieldsFragment) =>
    openDialog(<ProviderDialog provider={provider} url={organization.url} onDone={reload} />);
  return (
    <div className="form">
      <p className="soft">
        People sign in with the accounts that they have at an OpenID Connect provider. An account is found by an email
        address that the provider has verified.
      </p>
      <ul className="plain-list" aria-label="Identity providers">
        {providers.map((provider) => (
          <ProviderRow
            key={provider.id}
            provider={provider}
            onEdit={() => edit(provider)}
            onDelete={() => openDialog(<Deletion provider={provider} onDone={reload} />)}
          />
        ))}
        {providers.length === 0 && <li className="row soft">No identity providers.</li>}
      </ul>
      <div>
        <Button kind="primary" onClick={() => edit()}>
          Add a provider
        </Button>
      </div>
    </div>
  );
}

interface RowProps {
  readonly provider: ProviderFieldsFragment;
  readonly onEdit: () => void;
  readonly onDelete: () => void;
}

function ProviderRow({ provider, onEdit, onDelete }: RowProps) {
  const { name, issuer, isEnabled, hasClientSecret, isConfiguredByOperator } = provider;
  const disabled =
    hasClientSecret || isConfiguredByOperator ? ', disabled' : ', disabled: enter the client secret again';
  const state = `${isConfiguredByOperator ? ', configured by the operator of the server' : ''}${isEnabled ? '' : disabled}`;
  return (
    <li className="row">
      <div className="row-body">
        <strong>
          <bdi>{name}</bdi>
        </strong>
        <p className="soft">
          {issuer}
          {state}
        </p>
      </div>
      {(!isConfiguredByOperator || !isEnabled) && (
        <div className="row-actions">
          {!isConfiguredByOperator && (
            <Button aria-label={`Edit ${name}`} onClick={onEdit}>
              Edit
            </Button>
          )}
          <Button aria-label={`Delete ${name}`} onClick={onDelete}>
            Delete
          </Button>
        </div>
      )}
    </li>
  );
}

interface DeletionProps {
  readonly provider: ProviderFieldsFragment;
  readonly onDone: () => void;
}

function Deletion({ provider: { id, name }, onDone }: DeletionProps) {
  const { run, refusal, isBusy } = useCommand(DeleteIdentityProviderDocument);
  const [password, setPassword] = useState('');
  const remove = async () => {
    const input = { identityProviderId: id, ...(password !== '' && { currentPassword: password }) };
    const isDone = await run({ input });
    if (isDone) {
      notify('The identity provider was deleted.');
      onDone();
    }
    return isDone;
  };
  return (
    <Confirmation title={`Delete ${name}?`} action="Delete" refusal={refusal} isBusy={isBusy} onConfirm={remove}>
      People can no longer sign in with it. They keep their accounts.
      <PasswordField value={password} onChange={(event) => setPassword(event.currentTarget.value)} />
    </Confirmation>
  );
}
