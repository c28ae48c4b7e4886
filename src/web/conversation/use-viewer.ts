import { useQuery } from 'urql';
import { SidebarDocument, type SidebarQuery } from '../generated/graphql.ts';

/** Who is signed in, and their settings: part of the first screen, so there from the start. */
export function useViewer() {
  const [{ data }] = useQuery({ query: SidebarDocument });
  return {
    viewerId: data?.viewer?.id ?? '',
    settings: data?.ownSettings ?? null,
    data: data as SidebarQuery | undefined,
  };
}
