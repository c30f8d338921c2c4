/** The differences between two revisions, for the rollback dialog and the compare page. */
import { Badge, Group, Stack, Table, Text } from '@mantine/core'
import { diffWordsWithSpace } from 'diff'
import type { ReactNode } from 'react'
import { type FragmentOf, graphql, type ResultOf, readFragment } from '../api/graphql.ts'
import classes from './components.module.css'
import { fieldLabel } from './labels.ts'

export const changesFragment = graphql(`
  fragment RevisionChanges on RevisionComparison {
    isSame
    resourcesKnown
    differences {
      part
      field
      from
      to
    }
    secrets {
      added
      removed
      changed
    }
    secretReferences {
      added
      removed
      changed
    }
  }
`)

type Comparison = ResultOf<typeof changesFragment>
type Difference = Comparison['differences'][number]

const PARTS: Record<Difference['part'], string> = {
  source: 'Source',
  commit: 'Commit',
  image: 'Image',
  commands: 'Commands',
  resources: 'Resources',
}

export function RevisionChanges({
  comparison,
  same,
}: {
  comparison: FragmentOf<typeof changesFragment>
  same: ReactNode
}) {
  const { isSame, resourcesKnown, differences, secrets, secretReferences } = readFragment(changesFragment, comparison)
  return (
    <Stack gap="md">
      {isSame && <Text size="sm">{same}</Text>}
      {(Object.keys(PARTS) as Difference['part'][]).map((part) => {
        const own = differences.filter((one) => one.part === part)
        return own.length > 0 && <Fields key={part} title={PARTS[part]} differences={own} />
      })}
      <Names title="Secrets" names={secrets} changed="another value" />
      {secretReferences && <Names title="Secret references" names={secretReferences} changed="another secret" />}
      {!resourcesKnown && (
        <Text size="xs" c="dimmed">
          The resources of one revision are unknown: an earlier server version created it.
        </Text>
      )}
    </Stack>
  )
}

function Fields({ title, differences }: { title: string; differences: Difference[] }) {
  return (
    <section aria-label={title}>
      {/* one field with the name of its part: the name is shown once */}
      {differences.some(({ field }) => fieldLabel(field) !== title) && (
        <Text fw={600} size="sm" mb={4}>
          {title}
        </Text>
      )}
      <Table className={classes.table} layout="fixed" withRowBorders={false} verticalSpacing={4} horizontalSpacing="xs">
        <Table.Tbody>
          {differences.map(({ field, from, to }) => (
            <Table.Tr key={field}>
              <Table.Th className={classes.field} scope="row">
                {fieldLabel(field)}
              </Table.Th>
              <Table.Td>
                <Change field={field} from={from} to={to} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  )
}

/** Length up to which old and new text stand side by side, or stacked. Longer or multi-line text gets a word diff. */
const MAX_SIDE_BY_SIDE_CHARS = 40
const MAX_STACKED_CHARS = 200

function Change({ field, from, to }: Pick<Difference, 'field' | 'from' | 'to'>) {
  const short = (value: string | null) => (field === 'repoCommitSha' && value ? value.slice(0, 12) : value)
  const longest = Math.max(from?.length ?? 0, to?.length ?? 0)
  const isText = longest > MAX_STACKED_CHARS || `${from}${to}`.includes('\n')
  if (from !== null && to !== null && isText)
    return (
      <div className={classes.text}>
        {diffWordsWithSpace(from, to).map(({ value, added, removed }, i) => {
          const Part = added ? 'ins' : removed ? 'del' : 'span'
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts are always rendered together
          return <Part key={i}>{value}</Part>
        })}
      </div>
    )
  return (
    <span
      className={classes.text}
      data-below={(field !== 'repoCommitSha' && longest > MAX_SIDE_BY_SIDE_CHARS) || undefined}
    >
      {from === null ? <span className={classes.none}>none</span> : <del>{short(from)}</del>}
      <span aria-hidden> → </span>
      {to === null ? <span className={classes.none}>none</span> : <ins>{short(to)}</ins>}
    </span>
  )
}

function Names({ title, names, changed }: { title: string; names: Comparison['secrets']; changed: string }) {
  const all = [
    ...names.added.map((name) => ({ name, word: 'added', color: 'teal' })),
    ...names.removed.map((name) => ({ name, word: 'removed', color: 'red' })),
    ...names.changed.map((name) => ({ name, word: changed, color: 'yellow' })),
  ]
  if (all.length === 0) return null
  return (
    <section aria-label={title}>
      <Text fw={600} size="sm" mb={4}>
        {title}
      </Text>
      <Stack gap={4}>
        {all.map(({ name, word, color }) => (
          <Group key={name} gap="xs" wrap="nowrap" px="xs">
            <Text size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Text>
            <Badge variant="light" color={color} size="sm" style={{ flexShrink: 0 }}>
              {word}
            </Badge>
          </Group>
        ))}
      </Stack>
    </section>
  )
}
