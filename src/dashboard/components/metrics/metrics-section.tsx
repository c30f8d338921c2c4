/** Charts of what a deployment does. A separate chunk keeps uPlot out of the first load. */
import { Group, Paper, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import '@mantine/core/styles/SegmentedControl.css'
import { useParams } from '@tanstack/react-router'
import { type ReactNode, useCallback, useMemo, useState } from 'react'
import { restartCause } from '../labels.ts'
import { LinkTo } from '../links.tsx'
import { Loading, PageError } from '../page.tsx'
import { TimeAgo } from '../time.tsx'
import { Chart } from './chart.tsx'
import { CHARTS, type Headline } from './charts.ts'
import type { Change } from './comparison.ts'
import { clock } from './format.ts'
import classes from './metrics.module.css'
import { type Mark, type Measured, useMetrics } from './metrics-query.ts'
import { MetricsTable } from './metrics-table.tsx'
import { RANGES, type RangeName } from './ranges.ts'
import { toSteps } from './steps.ts'
import { useComparison } from './use-comparison.ts'

type LastRestart = Parameters<typeof restartCause>[0] & { at: string; message: string }

interface MetricsSectionProps {
  id: string
  /** says why there are no values: nothing serves yet, or it sleeps */
  state: 'never served' | 'asleep' | 'serving'
  /** the newest rollout that went live */
  newest: Mark | null
  lastRestart: LastRestart | null
  range: RangeName
  onRange(range: RangeName): void
}

export default function MetricsSection({
  id,
  state,
  newest,
  lastRestart,
  range,
  onRange,
}: MetricsSectionProps): ReactNode {
  const { measured, problem, isOld, refresh } = useMetrics(id, range)
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="metrics">
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Title order={2} size="h5" id="metrics">
            Metrics
          </Title>
          <SegmentedControl
            size="xs"
            aria-label="Time shown"
            value={range}
            onChange={(value) => onRange(value as RangeName)}
            data={Object.entries(RANGES).map(([value, { label }]) => ({ value, label }))}
          />
        </Group>
        {problem && <PageError error={problem} retry={() => void refresh()} />}
        {!measured && !problem && <Loading rows={4} />}
        {measured && <Content {...{ id, state, newest, lastRestart, measured, range, isOld }} />}
      </Stack>
    </Paper>
  )
}

interface ContentProps extends Omit<MetricsSectionProps, 'onRange'> {
  measured: Measured
  isOld: boolean
}

function Content({ id, state, newest, lastRestart, measured, range, isOld }: ContentProps) {
  const [pointed, setPointed] = useState<number | null>(null)
  const shown = useMemo(() => ({ ...measured, steps: toSteps(measured.metrics, measured.until) }), [measured])
  const changes = useComparison(id, newest, measured)
  const onPoint = useCallback((index: number | null) => setPointed(index), [])
  if (measured.metrics.series.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {EMPTY[state](RANGES[range].words)}
      </Text>
    )
  const restart = lastRestart && Date.parse(lastRestart.at) / 1000 >= measured.from ? lastRestart : null
  const restartNote = restart && `Last: ${restartCause(restart)}. ${restart.message}`
  const headlines = CHARTS.map((kind) => kind.headline(shown.steps, shown.until - shown.from))
  return (
    <>
      {newest && changes && changes.length > 0 && <Comparison newest={newest} changes={changes} />}
      {changes?.length === 0 && <Summary headlines={headlines} restart={restart} time={RANGES[range].words} />}
      <Text size="xs" c="dimmed" component="div">
        <Rollouts id={id} measured={measured} range={range} />
      </Text>
      <div className={classes.charts} data-old={isOld}>
        {CHARTS.map((kind) => (
          <Chart
            key={kind.title}
            kind={kind}
            shown={shown}
            pointed={pointed}
            onPoint={onPoint}
            note={kind.title === 'Restarts' ? restartNote : null}
          />
        ))}
      </div>
      <MetricsTable shown={shown} />
    </>
  )
}

/** In words: what the newest rollout changed. */
function Comparison({ newest: { number, at }, changes }: { newest: Mark; changes: Change[] }) {
  const worse = changes.filter((one) => one.isWorse)
  const others = changes.filter((one) => !one.isWorse)
  const inWords = (some: Change[]) => some.map(({ what, before, after }) => `${what} ${before} → ${after}`).join(', ')
  return (
    <Text size="sm" component="p" m={0}>
      <b>
        {worse.length > 0 ? '⚠ Worse' : 'Not worse'} since #{number}
      </b>{' '}
      went live <TimeAgo at={new Date(at * 1000).toISOString()} />. At most an hour before and after:{' '}
      {worse.length > 0 && <b>{inWords(worse)}</b>}
      {worse.length > 0 && others.length > 0 && '. Not worse: '}
      {inWords(others)}.
    </Text>
  )
}

/** In words: how it does, if there is nothing to compare. */
function Summary({ headlines, restart, time }: { headlines: Headline[]; restart: LastRestart | null; time: string }) {
  const briefs = (some: Headline[]) => some.flatMap(({ brief }) => brief ?? [])
  const last = restart ? [`last restart: ${restartCause(restart)}`] : []
  const bad = [...briefs(headlines.filter(({ isBad }) => isBad)), ...last].join(', ')
  const others = briefs(headlines.filter(({ isBad }) => !isBad)).join(', ')
  return (
    <Text size="sm" component="p" m={0}>
      <b>{bad ? '⚠ Problems' : 'No problems'}</b> in {time}: <b>{bad}</b>
      {bad && others && '. Otherwise: '}
      {others}.
    </Text>
  )
}

const EMPTY = {
  'never served': () => 'Nothing was measured yet. The charts begin when a revision serves.',
  asleep: (time: string) => `It is asleep and did nothing in ${time}. A request wakes it, and the charts go on.`,
  serving: (time: string) => `Nothing was measured in ${time}. New values appear within a minute.`,
}

const MAX_LINKS = 5

function Rollouts({ id, measured: { marks }, range }: Pick<ContentProps, 'id' | 'measured' | 'range'>) {
  const { ws } = useParams({ from: '/w/$ws' })
  if (marks.length === 0) return `No rollout in ${RANGES[range].words}.`
  const shown = marks.slice(-MAX_LINKS)
  return (
    <span className={classes.marks}>
      <span>Dashed lines: rollouts{marks.length > shown.length && `, ${marks.length} in all`}. Newest:</span>
      {shown.toReversed().map(({ revisionId, number, at }) => (
        <span key={revisionId}>
          <LinkTo
            to="/w/$ws/deployments/$id/revisions/$revisionId"
            params={{ ws, id, revisionId }}
            inherit
            underline="always"
          >
            #{number}
          </LinkTo>{' '}
          at {clock(at, RANGES[range].seconds)}
        </span>
      ))}
    </span>
  )
}
