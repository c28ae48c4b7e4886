import type { FormEvent } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  CancelScheduledMessageDocument,
  type ScheduledRowFragment as Scheduled,
  ScheduledMessagesDocument,
  UpdateScheduledMessageDocument,
} from '../generated/graphql.ts';
import { Markdown } from '../markdown/markdown.tsx';
import { Button } from '../ui/button.tsx';
import { Confirmation } from '../ui/confirmation.tsx';
import { Dialog, openDialog, useClose } from '../ui/dialog.tsx';
import { Field, Refusal } from '../ui/form.tsx';
import { Item, ItemList, Moment } from '../writing/item.tsx';
import { PlaceLink } from '../writing/place-link.tsx';
import { TimeField } from '../writing/time-choice.tsx';
import { fieldValueOf, inAnHour, momentIn } from '../writing/times.ts';

/** List of the scheduled messages, next one first, including those that could not be sent. */
export function ScheduledList() {
  const read = useData(ScheduledMessagesDocument, {});
  const { data } = read;
  const list = data?.scheduledMessages;
  const messages = list?.nodes.toSorted((a, b) => Date.parse(a.scheduledAt) - Date.parse(b.scheduledAt));
  return (
    <ItemList
      read={read}
      count={messages?.length}
      total={list?.totalCount}
      label="Scheduled messages"
      empty="You have no scheduled messages. To schedule one, select “Send later” when you write it."
    >
      {messages?.map((message) => (
        <ScheduledItem key={message.id} message={message} />
      ))}
    </ItemList>
  );
}

function ScheduledItem({ message }: { readonly message: Scheduled }) {
  const { scheduledAt, state, failureReason, renderedContent } = message;
  const isFailed = state === 'FAILED';
  return (
    <Item
      title={<PlaceLink of={message} />}
      isFailed={isFailed}
      detail={
        <>
          {isFailed ? `Couldn't send: ${failureReason} · ` : 'Scheduled for '}
          <Moment at={scheduledAt} />
        </>
      }
      actions={
        <>
          <Button kind="quiet" onClick={() => openDialog(<EditDialog message={message} />)}>
            {isFailed ? 'Reschedule' : 'Edit'}
          </Button>
          <Button kind="quiet" onClick={() => openDialog(<DeleteDialog message={message} />)}>
            Delete
          </Button>
        </>
      }
    >
      <Markdown html={renderedContent} isAlone />
    </Item>
  );
}

function EditDialog({ message }: { readonly message: Scheduled }) {
  return (
    <Dialog title="Edit scheduled message">
      <EditForm message={message} />
    </Dialog>
  );
}

function EditForm({ message: { id, content, scheduledAt, state } }: { readonly message: Scheduled }) {
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(UpdateScheduledMessageDocument);
  const before = state === 'FAILED' ? undefined : fieldValueOf(new Date(scheduledAt));
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const text = String(fields.get('content')).trim();
    const input = {
      scheduledMessageId: id,
      ...(text !== content && { content: text }),
      // The field has no seconds, so the exact time is kept unless the user changes it.
      ...(fields.get('at') !== before && { scheduledAt: momentIn(fields.get('at')) }),
    };
    if (Object.keys(input).length === 1 || (await run({ input }))) close();
  };
  return (
    <form className="form" onSubmit={submit}>
      <Field label="Message">
        <textarea className="input" name="content" rows={6} dir="auto" required defaultValue={content} />
      </Field>
      <TimeField value={before ?? inAnHour()} />
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

function DeleteDialog({ message: { id } }: { readonly message: Scheduled }) {
  const { run, refusal, isBusy } = useCommand(CancelScheduledMessageDocument);
  return (
    <Confirmation
      title="Delete this scheduled message?"
      action="Delete"
      refusal={refusal}
      isBusy={isBusy}
      onConfirm={() => run({ input: { scheduledMessageId: id } })}
    >
      The message will not be sent, and its text is deleted.
    </Confirmation>
  );
}
