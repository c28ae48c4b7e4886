import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  type ApiKeyLineFragment,
  ApiKeysDocument,
  BotApiKeysDocument,
  RevokeApiKeyDocument,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { useClock } from '../ui/clock.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';
import { NewKeyDialog, RenameKeyDialog, ReplaceKeyDialog, SCOPE_NAMES } from './api-key-forms.tsx';

/** The viewer's API keys, and those of the viewer's bots. */
export function ApiKeys() {
  const read = useData(ApiKeysDocument, {}, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} />;
  const { viewer } = read.data;
  if (!viewer) return null;
  return (
    <div className="form">
      <p className="soft">
        Programs sign in with an API key. You can limit a named key to some kinds of requests, let it expire, and revoke
        it without affecting other keys.
      </p>
      <section className="group-of-fields" aria-labelledby="own-keys">
        <h3 id="own-keys">Your keys</h3>
        <KeyList keys={viewer.apiKeys?.nodes ?? []} onChange={read.reload} />
        <div className="page-bar">
          <Button kind="primary" onClick={() => openDialog(<NewKeyDialog onDone={read.reload} />)}>
            Create a key
          </Button>
          <Button onClick={() => openDialog(<ReplaceKeyDialog />)}>Replace the default key</Button>
        </div>
      </section>
      {viewer.role !== 'GUEST' && <BotKeys />}
    </div>
  );
}

function BotKeys() {
  const read = useData(BotApiKeysDocument, {}, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} />;
  return read.data.ownBots?.nodes.map(({ id, fullName, apiKeys }) => (
    <section key={id} className="group-of-fields" aria-labelledby={`keys-${id}`}>
      <h3 id={`keys-${id}`}>
        <bdi>{`Keys of ${fullName}`}</bdi>
      </h3>
      <KeyList keys={apiKeys?.nodes ?? []} onChange={read.reload} />
      <div>
        <Button onClick={() => openDialog(<NewKeyDialog bot={{ id, fullName }} onDone={read.reload} />)}>
          {`Create a key for ${fullName}`}
        </Button>
      </div>
    </section>
  ));
}

interface ListProps {
  readonly keys: readonly ApiKeyLineFragment[];
  readonly onChange: () => void;
}

function KeyList({ keys, onChange }: ListProps) {
  if (keys.length === 0) return <p className="soft">Only the default key.</p>;
  return (
    <ul className="plain-list">
      {keys.map((key) => (
        <KeyRow key={key.id} apiKey={key} onChange={onChange} />
      ))}
    </ul>
  );
}

function KeyRow({ apiKey, onChange }: { readonly apiKey: ApiKeyLineFragment; readonly onChange: () => void }) {
  const { moment } = useClock();
  const { name, scopes, expiresAt, lastUsedAt } = apiKey;
  const isExpired = expiresAt != null && new Date(expiresAt) <= new Date();
  return (
    <li className="row">
      <div className="row-body">
        <strong>
          <bdi>{name}</bdi>
        </strong>
        <p className="soft">{scopes.map((scope) => SCOPE_NAMES[scope]).join(', ')}</p>
        <p className="soft">
          {lastUsedAt == null ? 'Never used' : `Last used ${moment(lastUsedAt)}`}
          {expiresAt != null && `, ${isExpired ? 'expired' : 'expires'} ${moment(expiresAt)}`}
        </p>
      </div>
      <div className="row-actions">
        <Button
          aria-label={`Rename ${name}`}
          onClick={() => openDialog(<RenameKeyDialog apiKey={apiKey} onDone={onChange} />)}
        >
          Rename
        </Button>
        <Button
          aria-label={`Revoke ${name}`}
          onClick={() => openDialog(<Revocation apiKey={apiKey} onDone={onChange} />)}
        >
          Revoke
        </Button>
      </div>
    </li>
  );
}

function Revocation({ apiKey, onDone }: { readonly apiKey: ApiKeyLineFragment; readonly onDone: () => void }) {
  const { run, refusal, isBusy } = useCommand(RevokeApiKeyDocument);
  const revoke = async () => {
    const isDone = await run({ input: { apiKeyId: apiKey.id } });
    if (isDone) {
      notify('The API key was revoked.');
      onDone();
    }
    return isDone;
  };
  return (
    <Confirmation title={`Revoke ${apiKey.name}?`} action="Revoke" refusal={refusal} isBusy={isBusy} onConfirm={revoke}>
      Programs that use this key are disconnected and can no longer sign in with it.
    </Confirmation>
  );
}
