import type { FormEvent } from 'react';
import { useClient } from 'urql';
import { useCommand } from '../api/use-command.ts';
import { ScheduleMessageDocument, type ScheduleMessageInput } from '../generated/graphql.ts';
import { act } from '../ui/act.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, openDialog, useClose } from '../ui/dialog.tsx';
import { Refusal } from '../ui/form.tsx';
import { notify } from '../ui/notices.tsx';
import { openPopup } from '../ui/popup.tsx';
import { momentOf } from '../writing/item.tsx';
import { TimeField, TimesMenu } from '../writing/time-choice.tsx';
import { momentIn } from '../writing/times.ts';

/** A message to send at a later time. */
export interface Later {
  readonly message: Omit<ScheduleMessageInput, 'scheduledAt'>;
  /** Called when the service has accepted the scheduled message. */
  readonly onDone: () => void;
}

/** Opens a menu beside an element, in which the user chooses the time at which a message is sent. */
export function openLaterMenu(anchor: Element, later: Later): void {
  openPopup(anchor, <LaterMenu {...later} />);
}

const confirmSchedule = (at: string): void => notify(`The message will be sent on ${momentOf(at)}.`);

function LaterMenu(later: Later) {
  const client = useClient();
  const choose = async (scheduledAt: string) => {
    const input = { ...later.message, scheduledAt };
    if ((await act(client, ScheduleMessageDocument, { input })) === undefined) return;
    later.onDone();
    confirmSchedule(scheduledAt);
  };
  return (
    <TimesMenu
      label="Send later"
      onChoose={(at) => void choose(at)}
      onOther={() => openDialog(<LaterDialog {...later} />)}
    />
  );
}

function LaterDialog(later: Later) {
  return (
    <Dialog title="Send later">
      <LaterForm {...later} />
    </Dialog>
  );
}

function LaterForm({ message, onDone }: Later) {
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(ScheduleMessageDocument);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const scheduledAt = momentIn(new FormData(event.currentTarget).get('at'));
    if (!(await run({ input: { ...message, scheduledAt } }))) return;
    close();
    onDone();
    confirmSchedule(scheduledAt);
  };
  return (
    <form className="form" onSubmit={submit}>
      <TimeField />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={isBusy}>
          Schedule
        </Button>
      </div>
    </form>
  );
}
