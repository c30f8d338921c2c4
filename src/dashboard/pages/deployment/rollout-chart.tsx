/**
 * Chart of the duration and outcome of the last rollouts, split into waiting, build and deploy. A separate chunk keeps
 * uPlot out of the first load. A table with links shows the same data, and works by keyboard.
 */
import { Paper, Table, Text, Title, useComputedColorScheme } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type MouseEvent, useEffect, useMemo, useRef, useState } from 'react'
import { useQuery } from 'urql'
import 'uplot/dist/uPlot.min.css'
import { REVISION_STATES } from '../../components/labels.ts'
import { LinkTo } from '../../components/links.tsx'
import { duration } from '../../components/time.tsx'
import classes from './deployment.module.css'
import { indexAt, type Plot, type PlotColors, plotRollouts } from './rollout-plot.ts'
import { MIN_ROLLOUTS, type Rollout, rolloutTimesQuery, toRollouts, typicalTimes } from './stages.ts'

/** Theme colours with a contrast of at least 3:1 to the page. */
const COLORS: Record<'light' | 'dark', PlotColors> = {
  light: {
    waited: 'gray-6',
    build: 'blue-7',
    deploy: 'teal-8',
    failed: 'red-8',
    interrupted: 'gray-7',
    text: 'dimmed',
    grid: 'gray-2',
  },
  dark: {
    waited: 'gray-6',
    build: 'blue-5',
    deploy: 'teal-5',
    failed: 'red-5',
    interrupted: 'gray-4',
    text: 'dimmed',
    grid: 'dark-5',
  },
}
const variable = (name: string) => `--mantine-color-${name}`
const PARTS = ['waited', 'build', 'deploy'] as const
const WORDS = { waited: 'Waiting', build: 'Build', deploy: 'Deploy' }

/** A new value of `ended` means that a rollout has ended. */
export default function RolloutChart({ id, ended }: { id: string; ended: string }) {
  const [{ data }, again] = useQuery({
    query: rolloutTimesQuery,
    variables: { id },
    requestPolicy: 'cache-and-network',
  })
  const first = useRef(ended)
  useEffect(() => {
    if (ended !== first.current) again({ requestPolicy: 'network-only' })
    first.current = ended
  }, [ended, again])
  const kept = useRef<Rollout[]>([])
  const nodes = data?.deployment?.revisions.nodes
  // the same data keeps the same chart, so the selection under the pointer stays
  const rollouts = useMemo(() => {
    const now = nodes ? toRollouts(nodes) : kept.current
    return JSON.stringify(now) === JSON.stringify(kept.current) ? kept.current : now
  }, [nodes])
  kept.current = rollouts
  if (rollouts.length < MIN_ROLLOUTS) return null
  return <Chart id={id} rollouts={rollouts} />
}

function Chart({ id, rollouts }: { id: string; rollouts: Rollout[] }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  const scheme = useComputedColorScheme()
  const place = useRef<HTMLDivElement>(null)
  const chart = useRef<Plot>(null)
  const [pointed, setPointed] = useState<number | null>(null)
  useEffect(() => {
    const target = place.current!
    const style = getComputedStyle(document.documentElement)
    const colors = Object.fromEntries(
      Object.entries(COLORS[scheme]).map(([part, name]) => [part, style.getPropertyValue(variable(name))]),
    ) as unknown as PlotColors
    const plot = plotRollouts(target, { rollouts, colors, width: target.clientWidth, onPoint: setPointed })
    chart.current = plot
    const observer = new ResizeObserver(() => plot.setSize({ width: target.clientWidth, height: plot.height }))
    observer.observe(target)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [rollouts, scheme])
  const open = ({ clientX }: MouseEvent) => {
    // uses the click's position: a finger has no hover before, and a fast mouse may outrun it
    const one = rollouts[indexAt(chart.current!, clientX)]
    if (one)
      void navigate({ to: '/w/$ws/deployments/$id/revisions/$revisionId', params: { ws, id, revisionId: one.id } })
  }
  const summary = summaryOf(rollouts)
  const one = pointed === null ? undefined : rollouts[pointed]
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="rollout-times">
      <Title order={2} size="h5" id="rollout-times">
        Rollout times
      </Title>
      <Text size="xs" c="dimmed">
        {summary}
      </Text>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the table has links for the keyboard */}
      <div ref={place} className={classes.plot} role="img" aria-label={summary} onClick={open} />
      <div className={classes.key}>
        {one ? <span>{describeRollout(one)}</span> : <Legend rollouts={rollouts} colors={COLORS[scheme]} />}
      </div>
      <details className={classes.table}>
        <summary>Show table</summary>
        <RolloutTable id={id} ws={ws} rollouts={rollouts} />
      </details>
    </Paper>
  )
}

const seconds = (value: number) => duration(value * 1000)
const count = (rollouts: Rollout[], outcome: Rollout['outcome']) =>
  rollouts.filter((one) => one.outcome === outcome).length

function summaryOf(rollouts: Rollout[]): string {
  const typical = typicalTimes(rollouts)
  const problems = [
    [count(rollouts, 'failed'), 'failed'],
    [count(rollouts, 'interrupted'), 'interrupted'],
  ]
    .filter(([many]) => many)
    .map(([many, word]) => `, ${many} ${word}`)
  return [
    `${rollouts.length} rollouts, #${rollouts[0]!.number} to #${rollouts.at(-1)!.number}${problems.join('')}.`,
    typical
      ? `Live after ${seconds(typical.median)} (median), ${seconds(typical.longest)} (longest).`
      : 'None went live.',
  ].join(' ')
}

const describeRollout = ({ number, status, total, waited, build, deploy }: Rollout): string =>
  `#${number}: ${REVISION_STATES[status].label.toLowerCase()} after ${seconds(total)} (waiting ${seconds(waited)}, build ${seconds(build)}, deploy ${seconds(deploy)})`

function Legend({ rollouts, colors }: { rollouts: Rollout[]; colors: PlotColors }) {
  return (
    <>
      {PARTS.filter((part) => rollouts.some((one) => one[part] > 0)).map((part) => (
        <span key={part}>
          <i className={classes.part} style={{ background: `var(${variable(colors[part])})` }} /> {WORDS[part]}
        </span>
      ))}
      {count(rollouts, 'failed') > 0 && <span>✕ failed</span>}
      {count(rollouts, 'interrupted') > 0 && <span>– interrupted</span>}
    </>
  )
}

function RolloutTable({ id, ws, rollouts }: { id: string; ws: string; rollouts: Rollout[] }) {
  return (
    <Table fz="xs" verticalSpacing={3}>
      <Table.Thead>
        <Table.Tr>
          {['Revision', 'Outcome', 'Waiting', 'Build', 'Deploy', 'Total'].map((head) => (
            <Table.Th key={head}>{head}</Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rollouts.toReversed().map(({ id: revisionId, number, status, waited, build, deploy, total }) => (
          <Table.Tr key={revisionId}>
            <Table.Td>
              <LinkTo to="/w/$ws/deployments/$id/revisions/$revisionId" params={{ ws, id, revisionId }} inherit>
                #{number}
              </LinkTo>
            </Table.Td>
            <Table.Td>{REVISION_STATES[status].label}</Table.Td>
            {Object.entries({ waited, build, deploy, total }).map(([name, value]) => (
              <Table.Td key={name}>{seconds(value)}</Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
