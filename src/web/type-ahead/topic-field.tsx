import { useState } from 'react';
import { suggestTopics } from './options.ts';
import { SuggestionList } from './suggestion-list.tsx';
import { useListbox } from './use-listbox.ts';
import { useOptions } from './use-options.ts';

interface Props {
  readonly channelId: string;
  readonly value: string;
  readonly onChange: (topic: string) => void;
}

/** Field for the name of a topic, with existing topics as suggestions. */
export function TopicField({ channelId, value, onChange }: Props) {
  const [asked, setAsked] = useState<string>();
  const options = useOptions(asked, asked ?? '', async (client) =>
    (await suggestTopics(client, channelId, asked ?? '')).map((name) => ({ key: name, label: name, insert: name })),
  );
  const choose = (topic: string) => {
    setAsked(undefined);
    onChange(topic);
  };
  const dismiss = () => setAsked(undefined);
  const list = useListbox({ options, choose: ({ insert }) => choose(insert), dismiss, marksFirst: false });
  return (
    <div className="composer-topic">
      <input
        role="combobox"
        dir="auto"
        aria-autocomplete="list"
        aria-label="Topic"
        placeholder="Topic"
        maxLength={60}
        autoComplete="off"
        value={value}
        onChange={(event) => {
          onChange(event.currentTarget.value);
          setAsked(event.currentTarget.value);
        }}
        onFocus={() => setAsked(value)}
        onBlur={dismiss}
        onKeyDown={list.onKey}
        {...list.fieldProps}
        aria-expanded={list.isOpen}
      />
      <SuggestionList list={list} label="Topics" />
    </div>
  );
}
