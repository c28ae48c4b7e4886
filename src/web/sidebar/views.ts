import { addressOf, decoded, routeOf } from '../routing/routes.ts';
import { quoted } from '../search/query.ts';
import type { IconName } from '../ui/icons.tsx';

/** A view as the viewer has set it up; of those that come with the page, there need be none. */
interface SetUp {
  readonly id: string;
  readonly fragment: string;
  readonly isPinned: boolean;
  readonly name: string | null;
}

/** A view in the sidebar. */
export interface View {
  /** What it is called where it is set up. */
  readonly fragment: string;
  readonly title: string;
  readonly icon: IconName;
  readonly address: string;
  /** What the other addresses of the view begin with. */
  readonly within?: string;
  /** Whether it stands in the sidebar, or behind "More views". */
  readonly isPinned: boolean;
  /** Whether the viewer has set it up, be it only by pinning it or not. */
  readonly isSetUp: boolean;
  /** Whether the viewer has made it, and may take it away. */
  readonly isOwn: boolean;
}

/** What comes with the page, pinned unless the viewer says otherwise; by the names that the service has for such views. */
const BUILT_IN = [
  { fragment: 'inbox', title: 'Inbox', icon: 'inbox', address: addressOf({ name: 'inbox' }) },
  { fragment: 'feed', title: 'All messages', icon: 'all', address: addressOf({ name: 'view', view: 'all' }) },
  {
    fragment: 'narrow/is/mentioned',
    title: 'Mentions',
    icon: 'at',
    address: addressOf({ name: 'view', view: 'mentions' }),
  },
  {
    fragment: 'narrow/is/starred',
    title: 'Starred',
    icon: 'star',
    address: addressOf({ name: 'view', view: 'starred' }),
  },
  {
    fragment: 'drafts',
    title: 'Drafts and later',
    icon: 'edit',
    address: addressOf({ name: 'writing', list: 'drafts' }),
    within: '/writing/',
  },
  {
    fragment: 'narrow/has/reaction/sender/me',
    title: 'Reactions',
    icon: 'smile',
    address: addressOf({ name: 'search', text: 'has:reaction sender:me' }),
  },
] as const;

/** Behind "More views", unless the viewer says otherwise. */
const USUALLY_HIDDEN: ReadonlySet<string> = new Set(['narrow/has/reaction/sender/me']);

/** All views: those of the page in its order, then the viewer's own, the oldest first. */
export function viewsOf(setUp: readonly SetUp[]): readonly View[] {
  const builtIn = BUILT_IN.map((view): View => {
    const own = setUp.find(({ fragment }) => fragment === view.fragment);
    const isPinned = own?.isPinned ?? !USUALLY_HIDDEN.has(view.fragment);
    return { ...view, isPinned, isSetUp: own !== undefined, isOwn: false };
  });
  const made = setUp.flatMap(({ fragment, isPinned, name }): View[] => {
    const address = addressBehind(fragment);
    if (name === null || address === undefined) return [];
    return [{ fragment, title: name, icon: 'search', address, isPinned, isSetUp: true, isOwn: true }];
  });
  return [...builtIn, ...made];
}

/** Where a view that somebody made leads: an address of this page without its slash, or a narrow of another client. */
function addressBehind(fragment: string): string | undefined {
  if (fragment.startsWith('narrow/')) {
    const text = searchOf(fragment.split('/').slice(1));
    return text === undefined ? undefined : addressOf({ name: 'search', text });
  }
  const address = `/${fragment}`;
  return routeOf(address).name === 'inbox' ? undefined : address;
}

/** A narrow as addresses of other clients have it, operators and operands in turn, as somebody would write it. */
function searchOf(parts: readonly string[]): string | undefined {
  const terms: string[] = [];
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [operator = '', operand = ''] = [parts[i], operandOf(parts[i + 1] ?? '')];
    if (operator === 'search') terms.push(operand);
    // Channels and people stand there by number, before their names.
    else if (/^-?(channel|stream)$/.test(operator)) terms.push(`${operator}:${quoted(operand.replace(/^\d+-/, ''))}`);
    else if (/^-?(is|has|topic|channels)$/.test(operator) || operand === 'me')
      terms.push(`${operator}:${quoted(operand)}`);
    else return undefined;
  }
  return terms.join(' ');
}

/** Such addresses have a dot where others have a percent sign. */
const operandOf = (part: string): string => decoded(part, part.replaceAll('.', '%'));
