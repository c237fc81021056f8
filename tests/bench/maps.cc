// SPDX-License-Identifier: MIT
// Ordinary C++: maps, strings, sorting, lambdas, a second thread.
#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

static void work()
{
	std::map<std::string, int> m;

	for (int i = 0;; i++) {
		m[std::to_string(i % 5000)] += i;
		if (i % 50000)
			continue;
		std::vector<std::string> v;
		for (auto &x : m)
			v.push_back(x.first);
		std::sort(v.begin(), v.end(), [](auto &a, auto &b) { return a > b; });
	}
}

int main()
{
	std::thread other(work);

	work();
}
