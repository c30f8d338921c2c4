/**
 * Replaces etcd and the watch cache: the objects, one version counter, and recent changes, so that a watch can start
 * at a version. Stored objects are replaced, never changed.
 */
import type { Kind } from './kinds.ts'
import type { KubeObject } from './objects.ts'

export interface Change {
  version: number
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  kind: Kind
  object: KubeObject
  /** the previous object; null: it was created */
  before: KubeObject | null
}

/** recent changes that watches can start from */
const KEPT_CHANGES = 10_000

export class Store {
  version = 1000
  /** changes up to this version are forgotten, and a watch from before gets 410 */
  forgotten = 1000
  /** kind → namespace ('' for cluster-wide ones) → name */
  readonly #objects = new Map<Kind, Map<string, Map<string, KubeObject>>>()
  readonly #listeners = new Set<(change: Change) => void>()
  #changes: Change[] = []

  #home(kind: Kind, namespace = ''): Map<string, KubeObject> {
    const namespaces = this.#objects.get(kind) ?? new Map<string, Map<string, KubeObject>>()
    this.#objects.set(kind, namespaces)
    const home = namespaces.get(namespace) ?? new Map<string, KubeObject>()
    namespaces.set(namespace, home)
    return home
  }

  get(kind: Kind, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#objects
      .get(kind)
      ?.get(namespace ?? '')
      ?.get(name)
  }

  /** Objects of a namespace or of all, unordered. */
  all(kind: Kind, namespace?: string): KubeObject[] {
    const namespaces = this.#objects.get(kind)
    if (namespace !== undefined) return [...(namespaces?.get(namespace)?.values() ?? [])]
    return [...(namespaces?.values() ?? [])].flatMap((home) => [...home.values()])
  }

  /** Objects in the order of namespace and name, as etcd lists them. */
  list(kind: Kind, namespace?: string): KubeObject[] {
    const key = ({ metadata }: KubeObject): string => `${metadata.namespace ?? ''}/${metadata.name}`
    return this.all(kind, namespace)
      .map((object) => ({ key: key(object), object }))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ object }) => object)
  }

  put(kind: Kind, object: KubeObject): KubeObject {
    const home = this.#home(kind, object.metadata.namespace)
    const before = home.get(object.metadata.name) ?? null
    const version = ++this.version
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
    home.set(object.metadata.name, stored)
    this.#tell({ version, type: before ? 'MODIFIED' : 'ADDED', kind, object: stored, before })
    return stored
  }

  delete(kind: Kind, object: KubeObject): KubeObject {
    const home = this.#home(kind, object.metadata.namespace)
    const before = home.get(object.metadata.name)
    if (!before) return object
    home.delete(object.metadata.name)
    const version = ++this.version
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
    this.#tell({ version, type: 'DELETED', kind, object: last, before })
    return last
  }

  /** Changes of a kind after a version, in order. */
  since(kind: Kind, version: number): Change[] {
    return this.#changes.filter((change) => change.kind === kind && change.version > version)
  }

  /** Forgets all changes up to now, like etcd's compaction. */
  compact(): void {
    this.forgotten = this.version
    this.#changes = []
  }

  onChange(listener: (change: Change) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #tell(change: Change): void {
    this.#changes.push(change)
    if (this.#changes.length > KEPT_CHANGES * 2) {
      const dropped = this.#changes.splice(0, this.#changes.length - KEPT_CHANGES)
      this.forgotten = dropped.at(-1)!.version
    }
    for (const listener of [...this.#listeners]) listener(change)
  }
}
