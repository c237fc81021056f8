// SPDX-License-Identifier: MIT
// Mono: makes garbage until it has collected its nursery so often; how many collections it counted itself.
//
//     mono Churn.exe 50          waits for a line before it begins and before it ends
using System;
using System.Collections.Generic;
using System.Diagnostics;

class Churn
{
	static List<byte[]> kept = new List<byte[]>();

	static void Work(int last)
	{
		for (int i = 0; GC.CollectionCount(0) < last; i++)
		{
			var block = new byte[1000];

			if (i % 20 == 0)
				kept.Add(block);
			if (kept.Count > 20000)
				kept.Clear();
		}
	}

	static void Main(string[] args)
	{
		Console.WriteLine("ready " + Process.GetCurrentProcess().Id);
		Console.ReadLine();

		int minor = GC.CollectionCount(0), major = GC.CollectionCount(1);

		Work(minor + int.Parse(args[0]));
		GC.Collect(0);
		GC.Collect();
		Console.WriteLine("done gen0={0} gen1={1}", GC.CollectionCount(0) - minor, GC.CollectionCount(1) - major);
		Console.ReadLine();
	}
}
