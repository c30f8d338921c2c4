/** Counts for the filter chips. Each count applies the other filters, but not its own. */
import { useQuery } from 'urql'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { useDeploymentChanges } from '../../components/refresh.ts'
import { filterOf, type Search } from './search.ts'
import { LIST_PACE } from './use-rows.ts'

const countsQuery = graphql(`
  query DeploymentChips(
    $filter: DeploymentFilter
    $ofStates: DeploymentFilter
    $byState: Boolean!
    $ofSources: DeploymentFilter
    $bySource: Boolean!
    $ofListeners: DeploymentFilter
    $byListener: Boolean!
    $ofTags: DeploymentFilter
    $byTag: Boolean!
  ) {
    matching: deploymentCounts(filter: $filter) {
      total
      serving
      notServing
      failing
      waiting
      latestRevisionWaits
      bySource {
        source
        count
      }
      byListener {
        listenerId
        count
      }
      byTag @skip(if: $byTag) {
        ...TagCount
      }
    }
    states: deploymentCounts(filter: $ofStates) @include(if: $byState) {
      total
      serving
      notServing
      failing
      waiting
      latestRevisionWaits
    }
    sources: deploymentCounts(filter: $ofSources) @include(if: $bySource) {
      bySource {
        source
        count
      }
    }
    listeners: deploymentCounts(filter: $ofListeners) @include(if: $byListener) {
      byListener {
        listenerId
        count
      }
    }
    tags: deploymentCounts(filter: $ofTags) @include(if: $byTag) {
      byTag {
        ...TagCount
      }
    }
  }

  fragment TagCount on DeploymentTagCount @_unmask {
    tag {
      id
      key
      value
    }
    count
  }
`)

const namesQuery = graphql(`
  query DeploymentFilters {
    tags(first: 100) {
      nodes {
        id
        key
        value
      }
    }
    listeners(first: 100) {
      nodes {
        id
        computeId
      }
    }
  }
`)

type MatchingCounts = ResultOf<typeof countsQuery>['matching']

export interface Counts {
  /** number of matching deployments */
  total: number
  states: Pick<MatchingCounts, 'total' | 'serving' | 'notServing' | 'failing' | 'waiting' | 'latestRevisionWaits'>
  sources: MatchingCounts['bySource']
  /** `none`: deployments that the server runs itself */
  listeners: { id: string; name: string; count: number }[]
  tags: { id: string; key: string; value: string; count: number }[]
}

/** null while loading. Filters that are not set share one count query. */
export function useCounts(search: Search): Counts | null {
  const { state, source, listener, tag } = search
  const variables = {
    filter: filterOf(search),
    ofStates: filterOf({ ...search, state: undefined }),
    byState: state !== undefined,
    ofSources: filterOf({ ...search, source: undefined }),
    bySource: source !== undefined,
    ofListeners: filterOf({ ...search, listener: undefined }),
    byListener: listener !== undefined,
    ofTags: filterOf({ ...search, tag: undefined }),
    byTag: tag !== undefined,
  }
  const [{ data }, again] = useQuery({ query: countsQuery, variables, requestPolicy: 'cache-and-network' })
  const [{ data: names }] = useQuery({ query: namesQuery, requestPolicy: 'cache-and-network' })
  useDeploymentChanges(
    () => again({ requestPolicy: 'network-only' }),
    () => true,
    LIST_PACE,
  )
  if (!data) return null
  const { matching, states = matching, sources = matching, listeners = matching } = data
  const tags = (data.tags ?? matching).byTag?.map(({ tag: own, count }) => ({ ...own, count })) ?? []
  // a chosen filter keeps its name, even with no match
  const chosen = tags.some(({ id }) => id === tag) ? undefined : names?.tags.nodes.find(({ id }) => id === tag)
  const nameOf = new Map(names?.listeners?.nodes.map(({ id, computeId }) => [id, computeId]))
  return {
    total: matching.total,
    states,
    sources: sources.bySource,
    listeners: listeners.byListener.map(({ listenerId: id, count }) =>
      id === null ? { id: 'none', name: 'This server', count } : { id, name: nameOf.get(id) ?? id.slice(0, 8), count },
    ),
    tags: chosen ? [...tags, { ...chosen, count: 0 }] : tags,
  }
}
