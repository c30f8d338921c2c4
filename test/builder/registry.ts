/** A registry to push to: Debian's docker-registry for a real engine, otherwise a stand-in. */
import { createImages } from '../../src/adapters/registry.ts'
import type { ImageStore } from '../../src/dataplane/builder/image-store.ts'
import { dockerRegistry } from '../support/engine/docker-registry.ts'
import { type TestRegistry, testRegistry } from '../support/engine/registry.ts'

export interface PushRegistry {
  /** `127.0.0.1:port` */
  host: string
  /** for builds; no login needed */
  store: ImageStore
  /** tags of a deployment's repository → digest */
  tags(deploymentId: string): Promise<Record<string, string>>
  /** whether any pushed layer contains this text, unpacked */
  holds(text: string): boolean
  /** number of requests; 0 for a real one */
  requests(): number
  close(): void
}

/** `folder`: storage of a real registry. */
export async function openRegistry(folder: string, real: boolean): Promise<PushRegistry> {
  const { host, requests, holds, close } = real ? await started(folder) : standIn(await testRegistry())
  const images = createImages(`http://${host}`, async () => 'anybody')
  const repository = (id: string) => `workspace/${id}`
  const digests = async (name: string) => {
    const found: Record<string, string> = {}
    for (const tag of await images.tags(name)) {
      const digest = await images.digestOf(name, tag)
      if (digest) found[tag] = digest
    }
    return found
  }
  return {
    ...{ host, requests, holds, close },
    tags: (id) => digests(repository(id)),
    store: {
      repository: async (id) => ({
        name: `${host}/${repository(id)}`,
        insecure: true,
        credentials: { username: 'token', password: 'anybody' },
      }),
      async prune(id, keep) {
        for (const digest of Object.values(await digests(repository(id))))
          if (!keep.includes(digest)) await images.remove(repository(id), digest)
      },
    },
  }
}

type Served = Pick<PushRegistry, 'host' | 'holds' | 'requests' | 'close'>

async function started(folder: string): Promise<Served> {
  const registry = await dockerRegistry(folder)
  await registry.start()
  return { ...registry, requests: () => 0 }
}

const standIn = ({ host, requests, bodies, close }: TestRegistry): Served => ({
  ...{ host, close },
  requests: () => requests.length,
  holds: (text) => bodies().some((body) => body.includes(text)),
})
