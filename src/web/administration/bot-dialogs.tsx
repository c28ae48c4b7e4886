import { type FormEvent, useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { NOT_RETURNED } from '../base/refusals.ts';
import {
  ApiKeysOfDocument,
  type BotRowFragment,
  CreateBotDocument,
  RegenerateBotKeyDocument,
  UpdateBotDocument,
} from '../generated/graphql.ts';
import { NewKeyDialog } from '../people/api-key-forms.tsx';
import { KeyList } from '../people/api-key-list.tsx';
import { PeoplePicker } from '../people/people-picker.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, openDialog, useClose } from '../ui/dialog.tsx';
import { PasswordField, passwordIn, Refusal, TextField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { notify } from '../ui/notices.tsx';
import { ShownKey } from '../ui/shown-key.tsx';

/** Dialog that creates a bot, and then shows its API key. */
export function CreateBot() {
  return (
    <Dialog title="Create bot">
      <CreationForm />
    </Dialog>
  );
}

function CreationForm() {
  const [key, setKey] = useState<string>();
  const [isMissing, setMissing] = useState(false);
  const { run, refusal, isBusy } = useCommand(CreateBotDocument, ({ createBot }) => {
    if (createBot?.__typename !== 'CreateBotPayload') return;
    const apiKey = createBot.user?.bot?.apiKey;
    setKey(apiKey);
    setMissing(apiKey === undefined);
  });
  if (key !== undefined) return <ShownKey value={key} />;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const names = { fullName: String(data.get('name')), shortName: String(data.get('shortName')) };
    void run({ input: { ...names, ...passwordIn(data) } });
  };
  return (
    <form className="form" onSubmit={submit}>
      <TextField label="Name" name="name" required maxLength={100} data-autofocus />
      <TextField
        label="Short name"
        name="shortName"
        hint="Start of the bot’s email address: “deploy” for deploy-bot@…"
        required
        maxLength={100}
      />
      <PasswordField />
      <Refusal>{isMissing ? NOT_RETURNED.newBotKey : refusal}</Refusal>
      <div className="form-actions">
        <Button kind="primary" type="submit" disabled={isBusy || isMissing}>
          Create bot
        </Button>
      </div>
    </form>
  );
}

interface BotProps {
  readonly bot: BotRowFragment;
}

/** Dialog with the named API keys of a bot, which can be created, renamed and revoked. */
export function BotKeys({ bot }: BotProps) {
  const read = useData(ApiKeysOfDocument, { userId: bot.id }, { requestPolicy: 'cache-and-network' });
  return (
    <Dialog title={`API keys of ${bot.fullName}`}>
      <NotReady of={read} />
      {read.state === 'ready' && (
        <div className="form">
          <KeyList keys={read.data.user?.apiKeys?.nodes ?? []} onChange={read.reload} />
          <div className="form-actions">
            <Button onClick={() => openDialog(<NewKeyDialog bot={bot} onDone={read.reload} />)}>Create a key</Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}

/** Dialog that replaces the API key of a bot, and then shows the new one. */
export const NewKey = ({ bot }: BotProps) => (
  <Dialog title={`New API key of ${bot.fullName}`}>
    <NewKeyForm bot={bot} />
  </Dialog>
);

function NewKeyForm({ bot }: BotProps) {
  const close = useClose();
  const [key, setKey] = useState<string>();
  const [isMissing, setMissing] = useState(false);
  const { run, refusal, isBusy } = useCommand(RegenerateBotKeyDocument, ({ regenerateApiKey }) => {
    if (regenerateApiKey?.__typename !== 'RegenerateApiKeyPayload') return;
    setKey(regenerateApiKey.apiKey ?? undefined);
    setMissing(regenerateApiKey.apiKey == null);
  });
  if (key !== undefined) return <ShownKey value={key} />;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setMissing(false);
    void run({ input: { botId: bot.id, ...passwordIn(new FormData(event.currentTarget)) } });
  };
  return (
    <form className="form" onSubmit={submit}>
      <p>The current key becomes invalid immediately. Programs that use it stop working until they have the new key.</p>
      <PasswordField />
      <Refusal>{isMissing ? NOT_RETURNED.replacedKey : refusal}</Refusal>
      <div className="form-actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" className="button-danger" type="submit" disabled={isBusy}>
          Replace key
        </Button>
      </div>
    </form>
  );
}

/** Dialog for the name and the owner of a bot. */
export const EditBot = ({ bot }: BotProps) => (
  <Dialog title={`Edit ${bot.fullName}`}>
    <EditForm bot={bot} />
  </Dialog>
);

function EditForm({ bot: { id, fullName, botOwner } }: BotProps) {
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(UpdateBotDocument);
  const [owners, setOwners] = useState(botOwner === null ? [] : [botOwner]);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const [owner] = owners;
    const changed = owner === undefined || owner.id === botOwner?.id ? {} : { ownerId: owner.id };
    if (!(await run({ input: { botId: id, fullName: String(data.get('name')), ...changed, ...passwordIn(data) } })))
      return;
    close();
    notify('Saved.');
  };
  return (
    <form className="form" onSubmit={submit}>
      <TextField label="Name" name="name" defaultValue={fullName} required maxLength={100} data-autofocus />
      <PeoplePicker
        label="Owner"
        hint="The owner can edit and deactivate the bot, and replace its API key."
        limit={1}
        initial={owners}
        onChange={(chosen) => setOwners([...chosen])}
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
