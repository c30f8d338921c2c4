/** Computes the differences between two revisions. Pure: for secrets, fingerprints suffice. */
import { isDeepStrictEqual } from 'node:util'
import type { Revision } from '../../generated/prisma/client.ts'
import type { SecretFingerprint } from '../secrets/secret-set.ts'
import type { EffectiveSpec } from '../values/resource-spec.ts'
import { BUILD_COLUMNS, type BuildColumns } from '../values/revision-source.ts'
import type { SecretReference } from '../values/shapes.ts'

/** The columns of each part. */
const PARTS = {
  source: ['repoUrl', 'repoRef', 'graphConfigPath', 'sourceTarballPath'],
  commit: ['repoCommitSha', 'commitMessage', 'commitAuthor'],
  image: ['imageUri'],
  commands: Object.keys(BUILD_COLUMNS) as (keyof BuildColumns)[],
} as const satisfies Record<string, (keyof Revision)[]>

export const COMPARED_PARTS = ['source', 'commit', 'image', 'commands', 'resources'] as const
type ComparedPart = (typeof COMPARED_PARTS)[number]

type Compared = Pick<Revision, (typeof PARTS)[keyof typeof PARTS][number]>

/** A revision and its runtime configuration. */
export interface Side {
  revision: Compared
  secrets: readonly SecretFingerprint[]
  /** with defaults; null: not recorded */
  resources: EffectiveSpec | null
  references: readonly SecretReference[] | null
}

export interface Difference {
  part: ComparedPart
  /** `repoRef`, or for resources `memory_mb` */
  field: string
  /** null: no value. Resources that are not text are JSON */
  from: string | null
  to: string | null
}

/** Names, sorted. */
export interface NameDifferences {
  added: string[]
  removed: string[]
  changed: string[]
}

export interface Differences {
  differences: Difference[]
  /** by name and fingerprint */
  secrets: NameDifferences
  /** by variable name; null: not recorded for one of the revisions */
  references: NameDifferences | null
  /** false: not recorded for one of the revisions */
  resourcesKnown: boolean
}

export function compare(from: Side, to: Side): Differences {
  const columns = Object.entries(PARTS).flatMap(([part, fields]) =>
    fields.flatMap((field): Difference[] => {
      const [before, after] = [from.revision[field], to.revision[field]]
      return before === after ? [] : [{ part: part as ComparedPart, field, from: before, to: after }]
    }),
  )
  return {
    differences: [...columns, ...resourcesOf(from.resources, to.resources)],
    secrets: names(
      from.secrets.map(({ name, fingerprint }) => [name, fingerprint]),
      to.secrets.map(({ name, fingerprint }) => [name, fingerprint]),
    ),
    references: from.references && to.references && names(from.references.map(named), to.references.map(named)),
    resourcesKnown: from.resources !== null && to.resources !== null,
  }
}

/** Nothing known differs. */
export const isSame = ({ differences, secrets, references }: Differences): boolean =>
  differences.length === 0 && [secrets, references].every((names) => !names || Object.values(names).flat().length === 0)

const named = ({ name, secret_name, secret_key }: SecretReference): [string, unknown] => [
  name,
  [secret_name, secret_key],
]

function names(from: readonly [string, unknown][], to: readonly [string, unknown][]): NameDifferences {
  const [before, after] = [new Map(from), new Map(to)]
  const sorted = (keys: Iterable<string>, is: (name: string) => boolean) => [...keys].filter(is).sort()
  return {
    added: sorted(after.keys(), (name) => !before.has(name)),
    removed: sorted(before.keys(), (name) => !after.has(name)),
    changed: sorted(after.keys(), (name) => before.has(name) && !isDeepStrictEqual(before.get(name), after.get(name))),
  }
}

function resourcesOf(from: EffectiveSpec | null, to: EffectiveSpec | null): Difference[] {
  if (!from || !to) return []
  const fields = [...new Set([...Object.keys(from), ...Object.keys(to)])] as (keyof EffectiveSpec)[]
  return fields.flatMap((field): Difference[] => {
    const [before, after] = [from[field] ?? null, to[field] ?? null]
    if (isDeepStrictEqual(before, after)) return []
    return [{ part: 'resources', field, from: text(before), to: text(after) }]
  })
}

const text = (value: unknown) => (value === null || typeof value === 'string' ? value : JSON.stringify(value))
