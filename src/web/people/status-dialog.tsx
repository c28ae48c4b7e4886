import { type FormEvent, useState } from 'react';
import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { EmojiShown, openEmojiPicker } from '../emoji/emoji-picker.tsx';
import { SetStatusDocument, SidebarDocument } from '../generated/graphql.ts';
import { Button } from '../ui/button.tsx';
import { Dialog, useClose } from '../ui/dialog.tsx';
import { Check, Refusal, TextField } from '../ui/form.tsx';
import { Icon } from '../ui/icons.tsx';
import { glyphOf } from '../ui/person.tsx';
import './people.css';

/** Common statuses, each with an emoji. */
const COMMON = [
  ['In a meeting', 'calendar', '📅'],
  ['Commuting', 'bus', '🚌'],
  ['Out sick', 'hurt', '🤕'],
  ['On holiday', 'palm_tree', '🌴'],
  ['Working remotely', 'house', '🏠'],
  ['At lunch', 'fork_and_knife', '🍴'],
] as const;

/** Dialog that sets the viewer's status: text, emoji, and whether their presence is visible. */
export function StatusDialog() {
  const { data } = useData(SidebarDocument, {});
  const status = data?.viewer?.status;
  return <Dialog title="Your status">{status !== undefined && <StatusForm {...status} />}</Dialog>;
}

interface StatusEmoji {
  /** Name of the emoji. Empty for none. */
  readonly name: string;
  readonly glyph: string | undefined;
  readonly imageUrl: string | undefined;
}

const NONE: StatusEmoji = { name: '', glyph: undefined, imageUrl: undefined };

interface Status {
  readonly text: string;
  readonly emojiName: string | null;
  readonly emojiCode: string | null;
  readonly reactionType: string | null;
  readonly isAway: boolean;
}

function StatusForm(before: Status) {
  const close = useClose();
  const { run, refusal, isBusy } = useCommand(SetStatusDocument);
  const [text, setText] = useState(before.text);
  const [emoji, setEmoji] = useState<StatusEmoji>(
    before.emojiName === null
      ? NONE
      : { name: before.emojiName, glyph: glyphOf(before.emojiCode, before.reactionType), imageUrl: undefined },
  );
  const [isAway, setAway] = useState(before.isAway);
  const save = async (text: string, emojiName: string) => {
    const emoji = emojiName === '' ? null : { name: emojiName };
    if (await run({ input: { text, emoji, isAway } })) close();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save(text.trim(), emoji.name);
  };
  return (
    <form className="form" onSubmit={submit}>
      <div className="status-text">
        <Button
          className="status-emoji-button"
          aria-label={emoji.name === '' ? 'Choose an emoji' : `Emoji: ${emoji.name.replaceAll('_', ' ')}`}
          onClick={({ currentTarget }) =>
            openEmojiPicker(currentTarget, ({ names: [name], glyph, imageUrl }) => setEmoji({ name, glyph, imageUrl }))
          }
        >
          {emoji.name === '' ? (
            <Icon name="smile" />
          ) : (
            <EmojiShown names={[emoji.name]} glyph={emoji.glyph} imageUrl={emoji.imageUrl} />
          )}
        </Button>
        <TextField
          label="Status"
          value={text}
          maxLength={60}
          placeholder="What are you up to?"
          data-autofocus
          onChange={(e) => setText(e.currentTarget.value)}
        />
      </div>
      <fieldset className="group-of-fields">
        <legend>Common statuses</legend>
        <div className="status-common">
          {COMMON.map(([words, name, glyph]) => (
            <Button
              key={name}
              aria-pressed={text === words && emoji.name === name}
              onClick={() => {
                setText(words);
                setEmoji({ name, glyph, imageUrl: undefined });
              }}
            >
              <span aria-hidden="true">{glyph}</span> {words}
            </Button>
          ))}
        </div>
      </fieldset>
      <Check
        label="Invisible: other users cannot see your presence"
        checked={isAway}
        onChange={(e) => setAway(e.currentTarget.checked)}
      />
      <Refusal>{refusal}</Refusal>
      <div className="form-actions">
        <Button disabled={isBusy} onClick={() => void save('', '')}>
          Clear status
        </Button>
        <Button kind="primary" type="submit" disabled={isBusy}>
          Save
        </Button>
      </div>
    </form>
  );
}
