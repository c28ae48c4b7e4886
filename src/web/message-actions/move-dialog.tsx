import { type FormEvent, useId, useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import {
  ChannelsToMoveToDocument,
  ChannelTopicsDocument,
  MoveMessagesDocument,
  type PropagateMode,
} from '../generated/graphql.ts';
import { topicRef } from '../routing/place.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { Check, Choice, Refusal, TextField } from '../ui/form.tsx';
import { notify } from '../ui/notices.tsx';

const MODES = [
  ['CHANGE_ONE', 'Only this message'],
  ['CHANGE_LATER', 'This message and all later ones in the topic'],
  ['CHANGE_ALL', 'All messages in the topic'],
] as const satisfies readonly (readonly [PropagateMode, string])[];

/** The message to move, with its current channel and topic. */
interface Moved {
  readonly id: string;
  readonly topicName: string;
  readonly channel: { readonly id: string; readonly name: string } | null;
}

interface Props {
  readonly message: Moved;
  /**
   * Initial choice of the messages to move: only this message, this and the later messages of the topic, or all of the topic.
   */
  readonly mode?: PropagateMode;
}

/** Dialog that moves a message, alone or with others of its topic, to another topic or channel. */
export function MoveDialog(props: Props) {
  return (
    <Dialog title={props.mode === 'CHANGE_ALL' ? 'Move topic' : 'Move message'}>
      <MoveForm {...props} />
    </Dialog>
  );
}

function MoveForm({ message: { id: messageId, channel, topicName }, mode = 'CHANGE_ONE' }: Props) {
  const close = useClose();
  const command = useCommand(MoveMessagesDocument);
  const [channelId, setChannelId] = useState(channel?.id ?? '');
  const [propagateMode, setMode] = useState<PropagateMode>(mode);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const topic = String(fields.get('topic') ?? '').trim();
    const input = {
      messageId,
      propagateMode,
      to: topicRef({ channelId, topic }),
      sendNotificationToNewTopic: fields.has('tellNew'),
      sendNotificationToOldTopic: fields.has('tellOld'),
    };
    if (topic === topicName && channelId === channel?.id) return close();
    if (!(await command.run({ input }))) return;
    close();
    notify('The messages were moved.');
  };
  return (
    <form className="form" onSubmit={submit}>
      <ChannelChoice value={channelId} own={channel} onChoose={setChannelId} />
      <TopicField channelId={channelId} topic={topicName} />
      <Choice label="Messages to move" options={MODES} value={propagateMode} onChoose={setMode} />
      <div>
        <Check name="tellNew" label="Send a notice to the new topic" defaultChecked />
        <Check name="tellOld" label="Send a notice to the old topic" />
      </div>
      <Refusal>{command.refusal}</Refusal>
      <div className="form-actions">
        <Button onClick={close}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={command.isBusy}>
          Move
        </Button>
      </div>
    </form>
  );
}

interface ChannelChoiceProps {
  readonly value: string;
  readonly own: Moved['channel'];
  readonly onChoose: (channelId: string) => void;
}

function ChannelChoice({ value, own, onChoose }: ChannelChoiceProps) {
  const { data } = useData(ChannelsToMoveToDocument, {});
  const channels = data?.subscriptions?.nodes.map(({ channel }) => channel) ?? [];
  const all = own === null || channels.some(({ id }) => id === own.id) ? channels : [own, ...channels];
  const options = all.map(({ id, name }) => [id, `#${name}`] as const).sort(([, a], [, b]) => a.localeCompare(b));
  return <Choice label="Channel" options={options} value={value} onChoose={onChoose} />;
}

function TopicField({ channelId, topic }: { readonly channelId: string; readonly topic: string }) {
  const id = useId();
  const { data } = useData(ChannelTopicsDocument, { channelId });
  return (
    <>
      <TextField label="Topic" name="topic" defaultValue={topic} maxLength={60} list={id} data-autofocus />
      <datalist id={id}>
        {data?.channel?.topics?.nodes.map(({ id: topicId, name }) => (
          <option key={topicId} value={name} />
        ))}
      </datalist>
    </>
  );
}
