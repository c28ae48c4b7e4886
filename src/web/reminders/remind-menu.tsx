import type { FormEvent } from 'react';
import { useClient } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { CreateReminderDocument } from '../generated/graphql.ts';
import { act } from '../ui/act.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, openDialog, useClose } from '../ui/dialog.tsx';
import { Refusal, TextField } from '../ui/form.tsx';
import { notify } from '../ui/notices.tsx';
import { openPopup } from '../ui/popup.tsx';
import { momentOf } from '../writing/item.tsx';
import { TimeField, TimesMenu } from '../writing/time-choice.tsx';
import { momentIn } from '../writing/times.ts';

interface Props {
  readonly messageId: string;
}

/** Opens a menu beside an element, in which the user chooses the time of a reminder of a message. */
export function openRemindMenu(anchor: Element, messageId: string): void {
  openPopup(anchor, <RemindMenu messageId={messageId} />);
}

const confirmReminder = (at: string): void => notify(`You will be reminded on ${momentOf(at)}.`);

function RemindMenu({ messageId }: Props) {
  const client = useClient();
  const choose = async (scheduledAt: string) => {
    const input = { messageId, scheduledAt };
    if ((await act(client, CreateReminderDocument, { input })) !== undefined) confirmReminder(scheduledAt);
  };
  return (
    <TimesMenu
      label="Remind me"
      onChoose={(at) => void choose(at)}
      onOther={() => openDialog(<RemindDialog messageId={messageId} />)}
    />
  );
}

function RemindDialog(props: Props) {
  return (
    <Dialog title="Remind me of this message">
      <RemindForm {...props} />
    </Dialog>
  );
}

function RemindForm({ messageId }: Props) {
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(CreateReminderDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const scheduledAt = momentIn(fields.get('at'));
    const note = String(fields.get('note')).trim();
    if (!(await run({ input: { messageId, scheduledAt, ...(note !== '' && { note }) } }))) return;
    close();
    confirmReminder(scheduledAt);
  };
  return (
    <form className="form" onSubmit={submit}>
      <TimeField />
      <TextField label="Note" name="note" maxLength={500} hint="Optional. Included in the reminder." />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={isBusy}>
          Remind me
        </Button>
      </div>
    </form>
  );
}
