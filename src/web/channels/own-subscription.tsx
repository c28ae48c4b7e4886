import { useCommand } from '../api/use-command.ts';
import { type SubscriptionSettingsInput, UpdateSubscriptionDocument } from '../generated/graphql.ts';
import { Check, Choice, Field, Refusal } from '../ui/form.tsx';
import type { Channel } from './settings-channel.ts';

interface Props {
  readonly channelId: string;
  readonly subscription: NonNullable<Channel['ownSubscription']>;
}

const WAYS = [
  ['desktopNotifications', 'Notify on the desktop'],
  ['audibleNotifications', 'Make a sound'],
  ['pushNotifications', 'Notify on the phone'],
  ['emailNotifications', 'Tell by mail'],
] as const;
const ANSWERS = [
  ['null', 'As your settings have it'],
  ['true', 'Yes'],
  ['false', 'No'],
] as const;

/** What the viewer makes of a channel, for themselves alone. Each change is made at once. */
export function OwnSubscription({ channelId, subscription }: Props) {
  const { run, refusal } = useCommand(UpdateSubscriptionDocument);
  const change = (part: Omit<SubscriptionSettingsInput, 'channelId'>) =>
    void run({ input: { subscriptions: [{ channelId, ...part }] } });
  const { color, isMuted, pinToTop } = subscription;
  return (
    <div className="form">
      <Check
        label="Pinned to the top"
        checked={pinToTop}
        onChange={(e) => change({ pinToTop: e.currentTarget.checked })}
      />
      <Check label="Muted" checked={isMuted} onChange={(e) => change({ isMuted: e.currentTarget.checked })} />
      <Field label="Color">
        <input
          className="color-input"
          type="color"
          key={color}
          defaultValue={color}
          onBlur={(event) => event.currentTarget.value !== color && change({ color: event.currentTarget.value })}
        />
      </Field>
      {WAYS.map(([name, label]) => (
        <Choice
          key={name}
          label={label}
          options={ANSWERS}
          value={String(subscription[name]) as 'null' | 'true' | 'false'}
          onChoose={(value) => change({ [name]: value === 'null' ? null : value === 'true' })}
        />
      ))}
      <Refusal>{refusal}</Refusal>
    </div>
  );
}
