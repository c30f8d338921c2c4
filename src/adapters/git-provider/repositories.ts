/** Lists all repositories of an installation. */
import type { ProviderRepository } from '../../domain/ports/git-provider.ts'
import type { Client } from './connection.ts'

const PAGE_SIZE = 100
const CONCURRENT_PAGES = 6

/** The first page has the total; the other pages are fetched concurrently. */
export async function listRepositories(client: Client, signal: AbortSignal): Promise<ProviderRepository[]> {
  const fetchPage = async (page: number) => {
    const parameters = { per_page: PAGE_SIZE, page, request: { signal } }
    const { data } = await client.request('GET /installation/repositories', parameters)
    return data
  }
  const first = await fetchPage(1)
  const pages = [first.repositories]
  const last = Math.ceil(first.total_count / PAGE_SIZE)
  let next = 2
  const fetchRest = async () => {
    while (next <= last) {
      const page = next++
      pages[page - 1] = (await fetchPage(page)).repositories
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT_PAGES }, fetchRest))
  // a repository that moves to another page during the fetch appears twice
  const unique = new Map(pages.flat().map((repository) => [repository.id, repository]))
  return [...unique.values()]
    .filter(({ archived }) => !archived)
    .map(({ id, name, owner, clone_url: url, default_branch: defaultBranch }) => ({
      id,
      name,
      owner: owner.login,
      url,
      defaultBranch,
    }))
    .sort((a, b) => compare(a.owner, b.owner) || compare(a.name, b.name))
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
