import { useCommand } from '../api/use-command.ts';
import { useData } from '../api/use-data.ts';
import { DeleteDraftDocument, type DraftRowFragment as Draft, DraftsDocument } from '../generated/graphql.ts';
import { placeOf } from '../routing/place.ts';
import { Button } from '../ui/button.tsx';
import { Refusal } from '../ui/form.tsx';
import { Item, ItemList, Moment } from '../writing/item.tsx';
import { PlaceLink } from '../writing/place-link.tsx';
import { keeperOf } from './drafts.ts';

/** List of the viewer's drafts, last edited first. */
export function DraftsList() {
  const read = useData(DraftsDocument, {});
  const { data } = read;
  const drafts = data?.drafts?.nodes.toSorted((a, b) => Date.parse(b.lastEditedAt) - Date.parse(a.lastEditedAt));
  return (
    <ItemList
      read={read}
      count={drafts?.length}
      total={data?.drafts?.totalCount}
      label="Drafts"
      empty="You have no drafts. Text that you have not sent is saved here."
    >
      {drafts?.map((draft) => (
        <DraftItem key={draft.id} draft={draft} />
      ))}
    </ItemList>
  );
}

function DraftItem({ draft }: { readonly draft: Draft }) {
  const { run, refusal, isBusy } = useCommand(DeleteDraftDocument);
  const goOn = () => {
    const place = placeOf(draft);
    if (place !== undefined) void keeperOf(place).take(draft);
  };
  return (
    <Item
      title={<PlaceLink of={draft} onFollow={goOn} />}
      detail={<Moment at={draft.lastEditedAt} />}
      actions={
        <>
          <Button kind="quiet" disabled={isBusy} onClick={() => void run({ input: { draftId: draft.id } })}>
            Delete
          </Button>
          <Refusal>{refusal}</Refusal>
        </>
      }
    >
      {draft.content}
    </Item>
  );
}
