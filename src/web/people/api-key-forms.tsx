import { type FormEvent, useState } from 'react';
import { useClient } from 'urql';
import { mutate } from '../api/mutate.ts';
import { useCommand } from '../api/use-command.ts';
import { NOT_RETURNED, refusalIn } from '../base/refusals.ts';
import {
  type ApiKeyLineFragment,
  type ApiKeyScope,
  CreateApiKeyDocument,
  RenameApiKeyDocument,
  ReplaceApiKeyDocument,
} from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { Check, Choice, PasswordField, passwordIn, Refusal, TextField } from '../ui/form.tsx';
import { ShownKey } from '../ui/shown-key.tsx';

export const SCOPE_NAMES: Readonly<Record<ApiKeyScope, string>> = {
  READ: 'Read',
  WRITE: 'Send and edit',
  EVENTS: 'Receive events',
  ADMINISTRATION: 'Administration',
};
const SCOPES = Object.entries(SCOPE_NAMES) as [ApiKeyScope, string][];

/** Lifetimes of new keys, in days. */
const LIFETIMES = [
  ['', 'Never'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In one year'],
] as const;
const DAY_MS = 86_400_000;

interface NewKeyProps {
  /** The bot for which the key is created. Undefined: the viewer. */
  readonly bot?: { readonly id: string; readonly fullName: string };
  readonly onDone: () => void;
}

/** Dialog that creates a key, and then shows it once. */
export function NewKeyDialog({ bot, onDone }: NewKeyProps) {
  return (
    <Dialog title={bot === undefined ? 'Create an API key' : `Create an API key for ${bot.fullName}`}>
      <NewKeyForm bot={bot} onDone={onDone} />
    </Dialog>
  );
}

function NewKeyForm({ bot, onDone }: { readonly bot: NewKeyProps['bot']; readonly onDone: () => void }) {
  const client = useClient();
  const [secret, setSecret] = useState<string>();
  const [refusal, setRefusal] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  if (secret !== undefined) return <ShownKey value={secret} />;
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const days = Number(fields.get('days'));
    setBusy(true);
    const { data, error } = await mutate(client, CreateApiKeyDocument, {
      input: {
        name: String(fields.get('name')),
        scopes: SCOPES.map(([scope]) => scope).filter((scope) => fields.get(scope) !== null),
        ...(days > 0 && { expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() }),
        ...(bot !== undefined && { botId: bot.id }),
        ...passwordIn(fields),
      },
    });
    setBusy(false);
    setRefusal(refusalIn(data ?? undefined, error));
    if (data?.createApiKey?.__typename !== 'CreateApiKeyPayload') return;
    setSecret(data.createApiKey.secret ?? undefined);
    if (data.createApiKey.secret == null) setRefusal(NOT_RETURNED.newKey);
    onDone();
  };
  return (
    <form className="form" onSubmit={submit} aria-label="New API key">
      <TextField
        label="Name"
        name="name"
        required
        maxLength={100}
        data-autofocus
        hint="For example, the program that uses it."
      />
      <fieldset className="group-of-fields">
        <legend>Scopes</legend>
        {SCOPES.map(([scope, name]) => (
          <Check key={scope} label={name} name={scope} defaultChecked={scope === 'READ'} />
        ))}
      </fieldset>
      <Choice label="Expires" name="days" options={LIFETIMES} />
      <PasswordField />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={isBusy}>
          Create
        </Button>
      </div>
    </form>
  );
}

/** Dialog that renames a key. */
export function RenameKeyDialog(props: { readonly apiKey: ApiKeyLineFragment; readonly onDone: () => void }) {
  return (
    <Dialog title={`Rename ${props.apiKey.name}`}>
      <RenameKeyForm {...props} />
    </Dialog>
  );
}

function RenameKeyForm({ apiKey, onDone }: { readonly apiKey: ApiKeyLineFragment; readonly onDone: () => void }) {
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(RenameApiKeyDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get('name'));
    if (!(await run({ input: { apiKeyId: apiKey.id, name } }))) return;
    onDone();
    close();
  };
  return (
    <form className="form" onSubmit={submit} aria-label="Rename an API key">
      <TextField label="Name" name="name" required maxLength={100} defaultValue={apiKey.name} data-autofocus />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={isBusy}>
          Rename
        </Button>
      </div>
    </form>
  );
}

/** Dialog that replaces the viewer's default key, and then shows the new one. */
export function ReplaceKeyDialog() {
  return (
    <Dialog title="Replace the default key?">
      <ReplaceKeyForm />
    </Dialog>
  );
}

function ReplaceKeyForm() {
  const client = useClient();
  const [secret, setSecret] = useState<string>();
  const [refusal, setRefusal] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  if (secret !== undefined) return <ShownKey value={secret} />;
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const input = passwordIn(new FormData(event.currentTarget));
    setBusy(true);
    const { data, error } = await mutate(client, ReplaceApiKeyDocument, { input });
    setBusy(false);
    setRefusal(refusalIn(data ?? undefined, error));
    const result = data?.regenerateApiKey;
    if (result?.__typename !== 'RegenerateApiKeyPayload') return;
    setSecret(result.apiKey ?? undefined);
    if (result.apiKey == null) setRefusal(NOT_RETURNED.replacedKey);
  };
  return (
    <form className="form" onSubmit={submit} aria-label="Replace the default key">
      <p>
        Programs in which you signed in with your password use the default key, and are signed out. Named keys are not
        affected.
      </p>
      <PasswordField />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={isBusy}>
          Replace
        </Button>
      </div>
    </form>
  );
}
