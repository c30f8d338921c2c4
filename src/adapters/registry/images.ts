/** Lists and removes images of a repository by the registry API (github.com/opencontainers/distribution-spec). */
import type { Registry, RegistryAccess } from '../../domain/ports/registry.ts'

const ANSWER_MS = 15_000
/** tags in one page */
const PAGE_SIZE = 1000
/** a tag's manifest: an image, or an index of several images */
const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
].join(', ')

/** `sign` creates a token for the registry. */
export function createImages(
  address: string,
  sign: (access: RegistryAccess[]) => Promise<string>,
): Pick<Registry, 'tags' | 'digestOf' | 'remove'> {
  async function call(method: string, repository: string, rest: string, actions: RegistryAccess['actions']) {
    const token = await sign([{ repository, actions }])
    const url = new URL(`/v2/${repository}/${rest}`, address)
    const headers = { authorization: `Bearer ${token}`, accept: MANIFESTS }
    return fetch(url, { method, headers, redirect: 'error', signal: AbortSignal.timeout(ANSWER_MS) })
  }

  const unexpected = (what: string, status: number) => new Error(`The registry answered ${what} with ${status}`)

  return {
    async tags(repository) {
      const found: string[] = []
      for (let rest: string | null = `tags/list?n=${PAGE_SIZE}`; rest; ) {
        const answer: Response = await call('GET', repository, rest, ['pull'])
        const body = (await answer.json().catch(() => ({}))) as { tags?: string[] | null }
        // a repository without any push does not exist
        if (answer.status === 404) return found
        if (!answer.ok) throw unexpected('a list of tags', answer.status)
        const names = body.tags ?? []
        found.push(...names)
        const more: boolean =
          names.length === PAGE_SIZE && (answer.headers.get('link')?.includes('rel="next"') ?? false)
        rest = more ? `tags/list?n=${PAGE_SIZE}&last=${encodeURIComponent(names.at(-1)!)}` : null
      }
      return found
    },

    async digestOf(repository, tag) {
      const answer = await call('HEAD', repository, `manifests/${tag}`, ['pull'])
      if (answer.status === 404) return null
      if (!answer.ok) throw unexpected('a tag', answer.status)
      return answer.headers.get('docker-content-digest')
    },

    async remove(repository, digest) {
      const { status } = await call('DELETE', repository, `manifests/${digest}`, ['pull', 'delete'])
      if (status === 405) return false
      if (status !== 202 && status !== 404) throw unexpected('a removal', status)
      return true
    },
  }
}
