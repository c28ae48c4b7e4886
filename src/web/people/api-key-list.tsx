import { useCommand } from '../api/use-command.ts';
import { type ApiKeyLineFragment, RevokeApiKeyDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { useClock } from '../ui/clock.ts';
import { Confirmation } from '../ui/confirmation.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { notify } from '../ui/notices.tsx';
import { RenameKeyDialog, SCOPE_NAMES } from './api-key-forms.tsx';

interface ListProps {
  readonly keys: readonly ApiKeyLineFragment[];
  readonly onChange: () => void;
  /** Whether the keys belong to a person other than the viewer, who can only revoke them. */
  readonly isOfOther?: boolean;
}

/** The named API keys of a user, with buttons that rename and revoke them. */
export function KeyList({ keys, onChange, isOfOther = false }: ListProps) {
  if (keys.length === 0) return <p className="soft">Only the default key.</p>;
  return (
    <ul className="plain-list">
      {keys.map((key) => (
        <KeyRow key={key.id} apiKey={key} onChange={onChange} isOfOther={isOfOther} />
      ))}
    </ul>
  );
}

interface RowProps extends Required<Pick<ListProps, 'onChange' | 'isOfOther'>> {
  readonly apiKey: ApiKeyLineFragment;
}

function KeyRow({ apiKey, onChange, isOfOther }: RowProps) {
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
        {!isOfOther && (
          <Button
            aria-label={`Rename ${name}`}
            onClick={() => openDialog(<RenameKeyDialog apiKey={apiKey} onDone={onChange} />)}
          >
            Rename
          </Button>
        )}
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
