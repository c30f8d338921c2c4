/** The values of all charts as a table, newest first: for screen readers, and for copying. */
import { Table } from '@mantine/core'
import { useState } from 'react'
import { CHARTS } from './charts.ts'
import { stepTime } from './format.ts'
import classes from './metrics.module.css'
import type { Shown } from './metrics-plot.ts'

export function MetricsTable({ shown }: { shown: Shown }) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details className={classes.table} onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Show table</summary>
      {isOpen && <Rows shown={shown} />}
    </details>
  )
}

const columns = CHARTS.flatMap(({ title, lines, format }) => lines.map((line) => ({ ...line, title, format })))

function Rows({ shown: { steps, marks, from, until } }: { shown: Shown }) {
  const { times, step, values } = steps
  const rows = times
    .map((time, i) => ({
      time,
      cells: columns.map(({ column, format }) => {
        const value = values[column][i]
        return value === null || value === undefined ? '–' : format(value)
      }),
      rollouts: marks.filter(({ at }) => at >= time && at < time + step).map(({ number }) => `#${number}`),
    }))
    .filter(({ cells, rollouts }) => rollouts.length > 0 || cells.some((cell) => cell !== '–'))
    .reverse()
  return (
    <Table fz="xs" verticalSpacing={3}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Time</Table.Th>
          {columns.map(({ column, title, label }) => (
            <Table.Th key={column}>
              {title}: {label}
            </Table.Th>
          ))}
          <Table.Th>Rollout</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(({ time, cells, rollouts }) => (
          <Table.Tr key={time}>
            <Table.Th scope="row">{stepTime(time, step, until - from)}</Table.Th>
            {cells.map((cell, i) => (
              <Table.Td key={columns[i]!.column}>{cell}</Table.Td>
            ))}
            <Table.Td>{rollouts.join(', ')}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
