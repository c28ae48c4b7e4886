import { useData } from '../api/use-data.ts';
import { SearchFacetsDocument } from '../generated/graphql.ts';
import { operatorOf, quoted, type Search, termsIn } from '../routing/query.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { channelIcon } from '../ui/channel-icon.ts';
import { Icon, type IconName } from '../ui/icons.tsx';

/**
 * Maximum number of channels, and of senders, that are offered: those with the most matching messages. Others are not offered.
 */
const OFFERED = 5;
/** Maximum number of messages that the service counts. If more match, the page shows "1,000 messages or more". */
const COUNTED = 1_000;

interface Facet {
  readonly icon: IconName;
  readonly name: string;
  readonly count: number;
  /** Term that restricts the search. */
  readonly term: string;
}

interface Props {
  /** Text of the search. */
  readonly text: string;
  readonly search: Search;
}

/**
 * Line with the number of found messages, and with links that restrict the search to the channels and senders with the most of
 * them. If the search names a channel, no channels are offered, and likewise for senders. Renders nothing for a time range,
 * which the service does not count.
 */
export function SearchFacets({ text, search: { narrow, before, after } }: Props) {
  const { state, data } = useData(SearchFacetsDocument, { narrow }, { requestPolicy: 'cache-and-network' });
  const { totalCount = null, facets } = data?.messages ?? {};
  if (before !== undefined || after !== undefined) return null;
  // The line takes up its space at once, so that the messages do not move when it is filled.
  if (state === 'loading') return <div className="search-facets" />;
  if (totalCount === null || totalCount === 0) return null;
  const named = new Set(termsIn(text).map(operatorOf));
  const channels = (facets?.channels ?? []).flatMap(({ count, channel }) =>
    channel === null
      ? []
      : { icon: channelIcon(channel.privacy), name: channel.name, count, term: `channel:${quoted(channel.name)}` },
  );
  const senders = (facets?.senders ?? []).map(({ count, sender: { fullName, databaseId } }, _, all) => {
    const isOneOfSeveral = all.filter(({ sender }) => sender.fullName === fullName).length > 1;
    const term = `sender:${quoted(isOneOfSeveral ? `${fullName}|${databaseId}` : fullName)}`;
    return { icon: 'at', name: fullName, count, term } as const;
  });
  return (
    <nav className="search-facets" aria-label="Refine the search">
      <span>{countOf(totalCount)}</span>
      {!named.has('channel') && <Facets of={channels} text={text} />}
      {!named.has('sender') && <Facets of={senders} text={text} />}
    </nav>
  );
}

const countOf = (total: number): string =>
  total >= COUNTED ? `${COUNTED.toLocaleString()} messages or more` : `${total} message${total === 1 ? '' : 's'}`;

/** Links for the given facets. Renders nothing for a single facet, because it would not restrict the search. */
function Facets({ of, text }: { readonly of: readonly Facet[]; readonly text: string }) {
  if (of.length < 2) return null;
  return of.slice(0, OFFERED).map(({ icon, name, count, term }) => (
    <Link key={term} className="search-facet" to={addressOf({ name: 'search', text: `${text.trim()} ${term}` })}>
      <Icon name={icon} size={14} />
      <bdi>{name}</bdi> {count}
    </Link>
  ));
}
