/**
 * What etcd and the watch cache are to the API server: the objects, one counter of versions for all of them, and
 * the recent changes, so that a watch can begin at a version. Objects in it are never changed, only replaced.
 */
import { type Kind, kindNamed } from './kinds.ts'
import type { KubeObject } from './objects.ts'

export interface Change {
  version: number
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  kind: Kind
  object: KubeObject
  /** as it was before; null for a new one */
  before: KubeObject | null
}

const key = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`

export class Store {
  version = 1000
  /** changes up to this version are forgotten: a watch from before gets 410 */
  forgotten = 1000
  readonly #objects = new Map<Kind, Map<string, KubeObject>>()
  readonly #listeners = new Set<(change: Change) => void>()
  readonly #keep: number
  #changes: Change[] = []

  /** @param keep how many changes are remembered for watches */
  constructor(keep: number) {
    this.#keep = keep
  }

  get(kind: Kind, namespace: string | undefined, name: string): KubeObject | undefined {
    return this.#objects.get(kind)?.get(key(namespace, name))
  }

  /** In the order of their keys, as etcd lists them. */
  list(kind: Kind, namespace?: string): KubeObject[] {
    const all = [...(this.#objects.get(kind) ?? [])]
    const mine = namespace === undefined ? all : all.filter(([k]) => k.startsWith(`${namespace}/`))
    return mine.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object)
  }

  listNamed(kind: string): KubeObject[] {
    return this.list(kindNamed(kind))
  }

  put(kind: Kind, object: KubeObject): KubeObject {
    const objects = this.#objects.get(kind) ?? new Map<string, KubeObject>()
    this.#objects.set(kind, objects)
    const k = key(object.metadata.namespace, object.metadata.name)
    const before = objects.get(k) ?? null
    const version = ++this.version
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
    objects.set(k, stored)
    this.#tell({ version, type: before ? 'MODIFIED' : 'ADDED', kind, object: stored, before })
    return stored
  }

  delete(kind: Kind, object: KubeObject): KubeObject {
    const k = key(object.metadata.namespace, object.metadata.name)
    const before = this.#objects.get(kind)?.get(k)
    if (!before) return object
    this.#objects.get(kind)!.delete(k)
    const version = ++this.version
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } }
    this.#tell({ version, type: 'DELETED', kind, object: last, before })
    return last
  }

  /** The changes of a kind after a version, in order. */
  since(kind: Kind, version: number): Change[] {
    return this.#changes.filter((change) => change.kind === kind && change.version > version)
  }

  /** Forgets all changes up to now, as the API server does after a while (etcd's compaction). */
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
    if (this.#changes.length > this.#keep * 2) {
      const dropped = this.#changes.splice(0, this.#changes.length - this.#keep)
      this.forgotten = dropped.at(-1)!.version
    }
    for (const listener of [...this.#listeners]) listener(change)
  }
}
